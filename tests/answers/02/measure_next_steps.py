"""measure.next_steps"""

# %% right: reference
text = (
    "First I probe one pass and time waits and steps apart, with the device synchronised, before I touch any setting. "
    "Second I repeat it with cached batches: the step time without a loader is the most that I could ever win, so if "
    "it is hardly shorter I leave the loader alone. Third I look at the queue and at the cores: an empty queue with idle "
    "cores means too few workers, an empty queue with busy cores means that decoding is the limit. In the first case "
    "I raise num_workers to 12 and expect waits to fall by a third, which the recurrence tells me beforehand. "
    "I stop when the queue is never empty: then the GPU is idle for a reason of its own, such as the host or a sync."
)
met = {
    "first": "time waits and steps apart, with the device synchronised",
    "bound": "the step time without a loader is the most that I could ever win",
    "cause": "an empty queue with idle cores means too few workers",
    "change": "raise num_workers to 12 and expect waits to fall by a third",
    "stop": "I stop when the queue is never empty",
}

# %% right: other words
text = (
    "Nothing is changed until I know where the 40 percent go. One profiled pass gives wait and train for each batch, "
    "after a synchronise. Then a control run on eight batches kept in memory tells me the ceiling; its difference to "
    "the normal run is all there is to gain. My suspect is slow collate, and the share of collate in prepare "
    "tells it from slow decoding. If it is above one half, I vectorise the collate function and expect prepare to halve. "
    "Should the control run be as slow as the normal one, the loader isn't it and I look at the step."
)
met = {
    "first": "gives wait and train for each batch, after a synchronise",
    "bound": "its difference to the normal run is all there is to gain",
    "cause": "the share of collate in prepare tells it from slow decoding",
    "change": "I vectorise the collate function and expect prepare to halve",
    "stop": "the loader isn't it and I look at the step",
}

# %% wrong: one criterion isn't met -> card: by your own mark it isn't met
text = "We raise the number of workers to sixteen and look at the GPU again, because more workers mean more batches. " * 4
met = {"first": "look at the GPU again, because more", "bound": False, "cause": False, "change": "raise the number of workers to sixteen", "stop": False}

# %% wrong: a few words -> card: a text of at least 60 words
text = "More workers, then pinned memory, then a faster disk."
met = dict.fromkeys(["first", "bound", "cause", "change", "stop"], "More workers, then pinned memory")

# %% wrong: ticked off -> card: a criterion is met by words
text = "We raise the number of workers to sixteen and look at the GPU again, because more workers mean more batches. " * 4
met = dict.fromkeys(["first", "bound", "cause", "change", "stop"], True)

# %% wrong: words that aren't there -> card: words that stand in your text
text = "We raise the number of workers to sixteen and look at the GPU again, because more workers mean more batches. " * 4
met = dict.fromkeys(["first", "bound", "cause", "change", "stop"], "time the steps with the device synchronised")

# %% wrong: one sentence for everything -> card: quote the same words
text = "We raise the number of workers to sixteen and look at the GPU again, because more workers mean more batches. " * 4
met = dict.fromkeys(["first", "bound", "cause", "change", "stop"], "look at the GPU again, because")
