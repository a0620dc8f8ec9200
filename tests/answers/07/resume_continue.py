"""resume.continue"""

# %% right: reference
good = {letter: state["step"] for letter, state in saved.items() if reconcile(log, state) is None}
checkpoint = max(good, key=good.get)
steps = job.target
updates = job.target - good[checkpoint]

# %% right: by resuming each to the end of the log
same = [letter for letter, state in saved.items() if state["step"] == log.steps or
        reconcile(log, train(log.steps, resume=state)) is None]
same = [letter for letter in same if saved[letter]["optimizer"]["velocity"]["w"]]
whole = train(log.steps, seed=job.seed)
same = [letter for letter in same if reconcile(whole, saved[letter]) is None]
checkpoint = max(same, key=lambda letter: saved[letter]["step"])
steps = job.target
updates = steps - saved[checkpoint]["step"]

# %% wrong: the newest of all -> card: the momentum wasn't saved
checkpoint = next(k for k, s in saved.items() if s["step"] == log.steps and not s["optimizer"]["velocity"]["w"])
steps, updates = job.target, job.target - log.steps

# %% wrong: a cursor that is ahead -> card: a batch is lost
checkpoint = next(k for k, s in saved.items() if s["samplePosition"] != 4 * ((s["step"] - 1) % 4 + 1) and s["step"] % 4
                  and s["samplePosition"] - 4 * ((s["step"] - 1) % 4 + 1) == 4)
steps, updates = job.target, job.target - saved[checkpoint]["step"]

# %% wrong: weights a step ahead -> card: a batch is applied twice
found = {k: reconcile(log, s) for k, s in saved.items()}
checkpoint = next(k for k, f in found.items() if f is not None and f.component == "parameters")
steps, updates = job.target, job.target - saved[checkpoint]["step"]

# %% wrong: the oldest, to be safe -> card: a newer one agrees with the log
checkpoint = min(saved, key=lambda letter: saved[letter]["step"])
steps, updates = job.target, job.target - saved[checkpoint]["step"]

# %% wrong: so many more -> card: steps is cumulative
good = {letter: state["step"] for letter, state in saved.items() if reconcile(log, state) is None}
checkpoint = max(good, key=good.get)
steps = updates = job.target - good[checkpoint]

# %% wrong: the target as the updates -> card: that is the target itself
good = {letter: state["step"] for letter, state in saved.items() if reconcile(log, state) is None}
checkpoint = max(good, key=good.get)
steps = updates = job.target

# %% wrong: no letter -> card: one of the checkpoints
checkpoint, steps, updates = "newest", 80, 61
