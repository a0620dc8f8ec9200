"""tokenise.break_even"""

# %% right: reference
def epochs_for(store):
    saved = ids.read_text + ids.tokenise - store["read_ids"]
    if saved <= 0:
        return "never"
    return (ids.read_text + ids.tokenise + store["write_ids"]) // saved + 1


narrow, wide = epochs_for(ids.narrow), epochs_for(ids.wide)

# %% right: try the epochs one by one
def first(store):
    for epochs in range(1, 100_000):
        before = ids.read_text + ids.tokenise + store["write_ids"] + epochs * store["read_ids"]
        if before < epochs * (ids.read_text + ids.tokenise):
            return epochs
    return "never"


narrow, wide = first(ids.narrow), first(ids.wide)

# %% wrong: never -> card: never, although an epoch is cheaper
narrow, wide = "never", "never"

# %% wrong: one epoch too few -> card: the epoch before
saved = ids.read_text + ids.tokenise - ids.narrow["read_ids"]
narrow, wide = max(1, (ids.read_text + ids.tokenise + ids.narrow["write_ids"]) // saved), "never"

# %% wrong: reading forgotten -> card: narrow =
narrow = (ids.read_text + ids.tokenise + ids.narrow["write_ids"]) // (ids.tokenise) + 40
wide = "never"

# %% wrong: half an epoch -> card: a whole number of epochs
narrow, wide = 2.5, "never"

# %% wrong: None for never -> card: write "never" in quotes
narrow, wide = 3, None
