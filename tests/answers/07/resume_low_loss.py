"""resume.low_loss"""

# %% right: reference
lost = {}
for letter, run in runs.items():
    found = reconcile(runs.continuous, run)
    if found is None:
        lost[letter] = "nothing"
    else:
        lost[letter] = {"parameters": "momentum", "sampleIds": "cursor", "rngState": "shuffler"}[found.component]

# %% right: by resuming it oneself
state = train(job.stopped, seed=job.seed).state
words = {None: "nothing", "drop-optimizer": "momentum", "reset-cursor": "cursor", "reset-rng": "shuffler"}
made = {word: train(80, seed=job.seed, resume=state, fault=fault).w for fault, word in words.items()}
lost = {letter: next(word for word, w in made.items() if w == run.w) for letter, run in runs.items()}

# %% wrong: the loss is small -> card: a small loss means a right resume
lost = dict.fromkeys("ABCD", "nothing")

# %% wrong: the lowest loss is right -> card: passed as right
best = min(runs, key=lambda letter: runs[letter].mse)
lost = {letter: "nothing" if letter == best else "momentum" for letter in runs}

# %% wrong: none is right -> card: called wrong
lost = {}
for letter, run in runs.items():
    found = reconcile(runs.continuous, run)
    lost[letter] = {None: "momentum", "parameters": "momentum", "sampleIds": "cursor", "rngState": "shuffler"}[
        found.component if found else None]

# %% wrong: cursor and shuffler swapped -> card: what the run's first difference shows
lost = {}
for letter, run in runs.items():
    found = reconcile(runs.continuous, run)
    words = {None: "nothing", "parameters": "cursor", "sampleIds": "shuffler", "rngState": "momentum"}
    lost[letter] = words[found.component if found else None]

# %% wrong: a word of one's own -> card: one of
lost = dict.fromkeys("ABCD", "right")
