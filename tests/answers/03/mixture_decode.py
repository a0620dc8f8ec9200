"""mixture.decode"""

# %% right: reference
text = """
At a quarter of images the worker spent 31 ms in 48 images and 40 ms in 144 texts, so an image costs more than two
texts. A batch of sixteen holds four images on average, and their times add up in it; a batch that happens to hold
eight takes nearly twice as long. If images are decoded before, the time in images falls to 3 ms, but the worker reads
7.4 MB instead of 1.0 for the same samples, so the work has moved to the storage. Next I would try two workers more,
and look whether the fetch wait of lab 02 falls by as much as the recurrence says.
"""
met = {
    "where": "31 ms in 48 images and 40 ms in 144 texts",
    "batch": "their times add up in it",
    "moved": "the worker reads 7.4 MB instead of 1.0",
    "next": "look whether the fetch wait of lab 02 falls",
}

# %% right: other words
text = (
    "Decoding is the larger part: with 25 percent of images in the mixture, 60 of 95 ms of the epoch went into JPEGs "
    "here. The trainer can't start on a batch before its last picture is ready, so batches rich in pictures make the "
    "stalls. Decoded before, the same epoch reads eight times as many bytes, 7.4 MB, which on a cold disk would cost "
    "more than decoding did. I would store the pictures at half the side first and compare prepare times per batch."
)
met = {
    "where": "60 of 95 ms of the epoch went into JPEGs",
    "batch": "can't start on a batch before its last picture is ready",
    "moved": "reads eight times as many bytes, 7.4 MB",
    "next": "store the pictures at half the side first and compare prepare times",
}

# %% wrong: by its own mark not met -> card: by your own mark it isn't met
text = "The images take most of the time of the worker, so we should have more workers and decode them all before. " * 4
met = {"where": "The images take most of the time", "batch": False, "moved": False, "next": False}

# %% wrong: a few words -> card: a text of at least 60 words
text = "Images are slow. Decode them before."
met = dict.fromkeys(["where", "batch", "moved", "next"], "Images are slow. Decode them before.")

# %% wrong: yes instead of words -> card: a criterion is met by words
text = "The images take most of the time of the worker, so we should have more workers and decode them all before. " * 4
met = dict.fromkeys(["where", "batch", "moved", "next"], True)

# %% wrong: words that aren't there -> card: words that stand in your text
text = "The images take most of the time of the worker, so we should have more workers and decode them all before. " * 4
met = dict.fromkeys(["where", "batch", "moved", "next"], "the storage reads more bytes")

# %% wrong: one quotation for all -> card: quote the same words
text = "The images take most of the time of the worker, so we should have more workers and decode them all before. " * 4
met = dict.fromkeys(["where", "batch", "moved", "next"], "decode them all before")
