"""durable.object_store"""

# %% right: reference
text = """
In an object store a rename is a copy followed by a delete, for each object alone, so a reader may see half of it.
I put all parts under a fresh prefix first, and a single conditional PUT of the manifest comes last: it makes them a
checkpoint. If two jobs put the same manifest key, the second PUT fails because the object exists, and that job lists
again and takes the next number. The manifest holds size and SHA-256 of every part, and a reader checks each one before
it uses it. Parts without a manifest are never loaded; they are removed by age, when no writer can be alive any more.
"""
met = {
    "no rename": "a rename is a copy followed by a delete",
    "publish": "a single conditional PUT of the manifest comes last",
    "two writers": "the second PUT fails because the object exists",
    "verify": "a reader checks each one before it uses it",
    "leftovers": "removed by age, when no writer can be alive any more",
}

# %% right: other words
text = (
    "There is no move: the client copies object after object and deletes the old ones, and can die between any two. "
    "So nothing is moved. Parts go up under a random name and stay there. The pointer object is replaced last of all, "
    "with If-Match on the version that I read; from this moment on readers see the new step. Whoever was slower gets "
    "412 and must read the pointer again. Checksums of all parts stand in the pointer, and loading compares them. "
    "A lifecycle rule deletes what no pointer names after a week, which is longer than any save takes."
)
met = {
    "no rename": "copies object after object and deletes the old ones",
    "publish": "The pointer object is replaced last of all",
    "two writers": "Whoever was slower gets 412",
    "verify": "Checksums of all parts stand in the pointer",
    "leftovers": "deletes what no pointer names after a week",
}

# %% wrong: one criterion isn't met -> card: by your own mark it isn't met
text = "We upload all the parts and then a manifest with one PUT that comes after everything else has arrived. " * 5
met = {"no rename": False, "publish": "one PUT that comes after everything", "two writers": False, "verify": False,
       "leftovers": False}

# %% wrong: a few words -> card: a text of at least 60 words
text = "Upload everything, then the manifest."
met = dict.fromkeys(["no rename", "publish", "two writers", "verify", "leftovers"], "Upload everything, then the manifest.")

# %% wrong: ticked off -> card: a criterion is met by words
text = "We upload all the parts and then a manifest with one PUT that comes after everything else has arrived. " * 5
met = dict.fromkeys(["no rename", "publish", "two writers", "verify", "leftovers"], True)

# %% wrong: words that aren't there -> card: words that stand in your text
text = "We upload all the parts and then a manifest with one PUT that comes after everything else has arrived. " * 5
met = dict.fromkeys(["no rename", "publish", "two writers", "verify", "leftovers"], "rename isn't atomic there")

# %% wrong: one sentence for everything -> card: quote the same words
text = "We upload all the parts and then a manifest with one PUT that comes after everything else has arrived. " * 5
met = dict.fromkeys(["no rename", "publish", "two writers", "verify", "leftovers"], "one PUT that comes after everything")

# %% wrong: criteria of one's own -> card: a mark for each of
text = "We upload all the parts and then a manifest with one PUT that comes after everything else has arrived. " * 5
met = {"good": "one PUT that comes after everything"}
