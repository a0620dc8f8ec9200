"""measure.cached_control"""

# %% right: reference
mean = {name: statistics.mean(times[1:]) for name, times in job.items()}
parts = {"waiting": mean["wait"], "contention": mean["train"] - mean["cached_train"], "copies": mean["copy"] - mean["cached_copy"]}
remedy = REMEDIES[max(parts, key=parts.get)]

# %% right: rounded, batch by batch
count = len(job["wait"]) - 1
parts = {
    "waiting": round(sum(job["wait"][1:]) / count, 2),
    "contention": round(sum(a - b for a, b in zip(job["train"][1:], job["cached_train"][1:])) / count, 2),
    "copies": round(sum(a - b for a, b in zip(job["copy"][1:], job["cached_copy"][1:])) / count, 2),
}
remedy = {"waiting": "more workers", "contention": "fewer workers", "copies": "fewer bytes"}[sorted(parts, key=parts.get)[-1]]

# %% wrong: with the fill -> card: with batch 0, the fill
mean = {name: statistics.mean(times) for name, times in job.items()}
parts = {"waiting": mean["wait"], "contention": mean["train"] - mean["cached_train"], "copies": mean["copy"] - mean["cached_copy"]}
remedy = REMEDIES[max(parts, key=parts.get)]

# %% wrong: sums -> card: not ms a batch
mean = {name: sum(times[1:]) for name, times in job.items()}
parts = {"waiting": mean["wait"], "contention": mean["train"] - mean["cached_train"], "copies": mean["copy"] - mean["cached_copy"]}
remedy = REMEDIES[max(parts, key=parts.get)]

# %% wrong: all of it is waiting -> card: all of the difference as waiting
mean = {name: statistics.mean(times[1:]) for name, times in job.items()}
whole = mean["wait"] + mean["train"] + mean["copy"] - mean["cached_train"] - mean["cached_copy"]
parts = {"waiting": whole, "contention": 0, "copies": 0}
remedy = "more workers"

# %% wrong: copies hidden in contention -> card: copies included
mean = {name: statistics.mean(times[1:]) for name, times in job.items()}
whole = mean["wait"] + mean["train"] + mean["copy"] - mean["cached_train"] - mean["cached_copy"]
parts = {"waiting": mean["wait"], "contention": whole - mean["wait"], "copies": 0}
remedy = "fewer workers"

# %% wrong: the whole step -> card: the whole step as contention
mean = {name: statistics.mean(times[1:]) for name, times in job.items()}
parts = {"waiting": mean["wait"], "contention": mean["train"], "copies": mean["copy"] - mean["cached_copy"]}
remedy = "fewer workers"

# %% wrong: a remedy for the smallest part -> card: what lowers the largest part
mean = {name: statistics.mean(times[1:]) for name, times in job.items()}
parts = {"waiting": mean["wait"], "contention": mean["train"] - mean["cached_train"], "copies": mean["copy"] - mean["cached_copy"]}
remedy = REMEDIES[min(parts, key=parts.get)]

# %% wrong: a remedy of one's own -> card: one of
parts = {"waiting": 1.0, "contention": 1.0, "copies": 1.0}
remedy = "a faster disk"
