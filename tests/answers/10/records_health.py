"""records.health"""

# %% right: reference
troubles = {}
for letter, record in records.items():
    signs = [*record.health("loss").signs, *record.health("grad_norm").signs]
    troubles[letter] = signs[0].sign if signs else "nothing"

# %% right: from the rows
import math

troubles = {}
for letter, record in records.items():
    steps = [row["step"] for row in record.rows]
    norms = [row["grad_norm"] for row in record.rows]
    losses = [row["loss"] for row in record.rows]
    if record.repeated:
        troubles[letter] = "repeated"
    elif len(steps) < steps[-1]:
        troubles[letter] = "gap"
    elif not all(map(math.isfinite, norms)):
        troubles[letter] = "not-finite"
    elif losses[-1] > losses[0]:
        troubles[letter] = "not-learning"
    else:
        troubles[letter] = "spike" if max(norms[18:]) > 5 * sorted(norms[10:])[10] else "nothing"

# %% wrong: the loss alone -> card: what the loss alone shows
troubles = {}
for letter, record in records.items():
    signs = record.health().signs
    troubles[letter] = signs[0].sign if signs else "nothing"

# %% wrong: all healthy -> card: that all are healthy
troubles = dict.fromkeys("ABCDE", "nothing")

# %% wrong: all spikes -> card: what its rows show
troubles = dict.fromkeys("ABCDE", "spike")

# %% wrong: a word of one's own -> card: one of
troubles = dict.fromkeys("ABCDE", "broken")

# %% wrong: one missing -> card: a word for every record
troubles = dict.fromkeys("ABCD", "nothing")
