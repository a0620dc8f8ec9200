"""metrics.gather_pitfalls"""

# %% right: reference
made = plan(mine.samples, mine.batch_size, mine.ranks)
padded = sum(len(batch) for batches in made.per_rank for batch in batches)
rows = {"A": mine.samples, "B": padded, "C": padded}
means = [np.mean(batches[step]) for step in range(made.steps[0]) for batches in made.per_rank]
left = mine.samples % (mine.ranks * mine.batch_size)
if left == 1:
    means = means[:-1]
mean = float(np.mean(means))

# %% right: by running them
found = run_programs(mine.samples, mine.batch_size, mine.ranks) if "run_programs" in globals() else None
if found is None:
    from labkit.metrics.programs import run_programs

    found = run_programs(mine.samples, mine.batch_size, mine.ranks)
rows = {letter: len(found[letter].values) for letter in "ABC"}
mean = round(found["D"].mean, 3)

# %% wrong: always removed -> card: always removed the borrowed rows
rows = dict.fromkeys("ABC", mine.samples)
mean = (mine.samples - 1) / 2

# %% wrong: never removed -> card: never removed them
padded = -(-mine.samples // (2 * mine.batch_size)) * 2 * mine.batch_size
rows = dict.fromkeys("ABC", padded)
mean = (mine.samples - 1) / 2

# %% wrong: only the late one -> card: only the late gather
padded = -(-mine.samples // (2 * mine.batch_size)) * 2 * mine.batch_size
rows = {"A": mine.samples, "B": mine.samples, "C": padded}
mean = 0

# %% wrong: only the stream -> card: only the stream
padded = -(-mine.samples // (2 * mine.batch_size)) * 2 * mine.batch_size
rows = {"A": mine.samples, "B": padded, "C": mine.samples}
mean = 0

# %% wrong: the right mean -> card: the mean over all samples
padded = -(-mine.samples // (2 * mine.batch_size)) * 2 * mine.batch_size
rows = {"A": mine.samples, "B": padded, "C": padded}
mean = (mine.samples - 1) / 2

# %% wrong: a sample is lost -> card: no program loses a sample
rows = {"A": mine.samples // 2, "B": mine.samples, "C": mine.samples}
mean = 0

# %% wrong: the mean of the full steps -> card: the full steps alone
padded = -(-mine.samples // (2 * mine.batch_size)) * 2 * mine.batch_size
rows = {"A": mine.samples, "B": padded, "C": padded}
mean = (padded - 2 * mine.batch_size - 1) / 2

# %% wrong: words -> card: a mean
rows = {"A": 1, "B": 1, "C": 1}
mean = "too low"
