"""contract.missing"""

# %% right: reference
forgets = {}
for letter, trainer in trainers.items():
    first = trainer.audit().first
    word = "nothing" if first is None else first.component
    forgets[letter] = word if word != "rng" else "dropout rng" if first.rank == 0 else "rank rng"

# %% right: by what differs on which rank
forgets = dict.fromkeys(trainers, "nothing")
for letter, trainer in trainers.items():
    for found in trainer.audit().findings[:1]:
        names = {"schedule": "schedule", "scaler": "scaler", "ema": "ema"}
        forgets[letter] = names.get(found.component, ("dropout rng", "rank rng")[found.rank])

# %% wrong: all fine -> card: nothing is missing anywhere
forgets = dict.fromkeys("ABCDE", "nothing")

# %% wrong: rng is rng -> card: always every rank's
forgets = {}
for letter, trainer in trainers.items():
    first = trainer.audit().first
    forgets[letter] = "nothing" if first is None else first.component.replace("rng", "dropout rng")

# %% wrong: rng is the other ranks' -> card: always the other ranks'
forgets = {}
for letter, trainer in trainers.items():
    first = trainer.audit().first
    forgets[letter] = "nothing" if first is None else first.component.replace("rng", "rank rng")

# %% wrong: exchanged -> card: exchanged
forgets = {}
for letter, trainer in trainers.items():
    first = trainer.audit().first
    word = "nothing" if first is None else first.component
    forgets[letter] = word if word != "rng" else "rank rng" if first.rank == 0 else "dropout rng"

# %% wrong: a word of one's own -> card: one of
forgets = dict.fromkeys("ABCDE", "optimizer")
