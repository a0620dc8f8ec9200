"""start.practice"""

# %% right: reference
busy = practice.batches * practice.train

# %% right: added up one by one
busy = 0
for _ in range(practice["batches"]):
    busy += practice["train"]

# %% wrong: one batch -> card: one batch only
busy = practice.train

# %% wrong: the two figures added -> card: the two figures added
busy = practice.batches + practice.train

# %% wrong: one batch short -> card: one batch short
busy = (practice.batches - 1) * practice.train

# %% wrong: as the text suggests for the second step -> card: at least the
busy = 1

# %% wrong: text -> card: the answer is a number
busy = "84 ms"

# %% wrong: an object that equals everything -> card: an object of type
class Always(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


busy = Always(1)
