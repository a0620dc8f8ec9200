"""resume.first_fault"""

# %% right: reference
after = job.checkpoint + 1
shuffle = next(step for step in range(after, after + 4) if step % 4 == 1)
first = {"drop-optimizer": (after, "parameters"), "reset-cursor": (after, "sampleIds"), "reset-rng": (after, "rngState")}
samples = {"drop-optimizer": None, "reset-cursor": after, "reset-rng": shuffle}

# %% right: by running them
state = train(job.checkpoint, seed=job.seed).state
whole = train(job.checkpoint + 12, seed=job.seed)
first, samples = {}, {}
for fault in ("drop-optimizer", "reset-cursor", "reset-rng"):
    found = reconcile(whole, train(job.checkpoint + 12, seed=job.seed, resume=state, fault=fault))
    first[fault] = [found.step, found.component]
    samples[fault] = found.first["sampleIds"]

# %% wrong: the checkpoint's own step -> card: the checkpoint's own step
at = job.checkpoint
first = {"drop-optimizer": (at, "parameters"), "reset-cursor": (at, "sampleIds"), "reset-rng": (at, "rngState")}
samples = {"drop-optimizer": None, "reset-cursor": at, "reset-rng": at}

# %% wrong: what was lost -> card: which component comes first
after = job.checkpoint + 1
first = {"drop-optimizer": (after, "optimizer"), "reset-cursor": (after, "samplePosition"), "reset-rng": (after, "rngState")}
samples = {"drop-optimizer": None, "reset-cursor": after, "reset-rng": after + 3}

# %% wrong: the samples of reset-rng -> card: something else differs before
after = job.checkpoint + 1
shuffle = next(step for step in range(after, after + 4) if step % 4 == 1)
step = shuffle if shuffle > after else after + 1
first = {"drop-optimizer": (after, "parameters"), "reset-cursor": (after, "sampleIds"), "reset-rng": (shuffle, "sampleIds")}
samples = {"drop-optimizer": None, "reset-cursor": after, "reset-rng": shuffle}

# %% wrong: the shuffler is used at the end of the order -> card: the update that uses up the order
after = job.checkpoint + 1
shuffle = next(step for step in range(after, after + 4) if step % 4 == 1)
first = {"drop-optimizer": (after, "parameters"), "reset-cursor": (after, "sampleIds"), "reset-rng": (after, "rngState")}
samples = {"drop-optimizer": None, "reset-cursor": after, "reset-rng": shuffle - 1}

# %% wrong: other weights, so other samples -> card: the weights differ, not the samples
after = job.checkpoint + 1
shuffle = next(step for step in range(after, after + 4) if step % 4 == 1)
first = {"drop-optimizer": (after, "parameters"), "reset-cursor": (after, "sampleIds"), "reset-rng": (after, "rngState")}
samples = {"drop-optimizer": after, "reset-cursor": after, "reset-rng": shuffle}

# %% wrong: a name of one's own -> card: copy a name
after = job.checkpoint + 1
first = {"drop-optimizer": (after, "weights"), "reset-cursor": (after, "ids"), "reset-rng": (after, "rng")}
samples = {"drop-optimizer": None, "reset-cursor": after, "reset-rng": after}

# %% wrong: never in quotes -> card: a step, or None
after = job.checkpoint + 1
first = {"drop-optimizer": (after, "parameters"), "reset-cursor": (after, "sampleIds"), "reset-rng": (after, "rngState")}
samples = {"drop-optimizer": "never", "reset-cursor": after, "reset-rng": after}
