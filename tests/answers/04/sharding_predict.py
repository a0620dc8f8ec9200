"""sharding.predict"""

# %% right: reference
claims = {}
for letter, setting in four_ways.settings.items():
    flags = {name: value for name, value in setting.items() if name != "batch_size"}
    found = plan(four_ways.samples, setting["batch_size"], four_ways.ranks, **flags)
    claims[letter] = {
        "duplicates": len(found.duplicates),
        "dropped": len(found.dropped),
        "steps": found.steps,
        "hang": found.hang_risk,
    }

# %% right: by rounds
claims = {}
N, P = four_ways.samples, four_ways.ranks
for letter, setting in four_ways.settings.items():
    size = setting["batch_size"] // P if setting.get("split_batches") else setting["batch_size"]
    rounds, left = divmod(N, size * P)
    claim = {"duplicates": 0, "dropped": 0, "steps": [rounds] * P, "hang": False}
    if left and setting.get("drop_last"):
        claim["dropped"] = left
    elif left and setting.get("even_batches", True):
        claim["duplicates"], claim["steps"] = size * P - left, [rounds + 1] * P
    elif left:
        claim["steps"] = [rounds + (left > rank * size) for rank in range(P)]
        claim["hang"] = len(set(claim["steps"])) > 1
    claims[letter] = claim

# %% wrong: as torch's sampler deals -> card: it deals out single samples
claims = {}
for letter, setting in four_ways.settings.items():
    split = setting.get("split_batches", False)
    size = setting["batch_size"] // four_ways.ranks if split else setting["batch_size"]
    drop = setting.get("drop_last", False)
    found = plan_distributed_sampler(four_ways.samples, four_ways.ranks, size, drop_last=drop)
    claims[letter] = {
        "duplicates": len(found.duplicates),
        "dropped": len(found.dropped),
        "steps": list(found.steps),
        "hang": found.hang_risk,
    }

# %% wrong: even_batches forgotten -> card: what even_batches=True gives
claims = {}
for letter, setting in four_ways.settings.items():
    split, drop = setting.get("split_batches", False), setting.get("drop_last", False)
    found = plan(four_ways.samples, setting["batch_size"], four_ways.ranks, split_batches=split, drop_last=drop)
    claims[letter] = {
        "duplicates": len(found.duplicates),
        "dropped": len(found.dropped),
        "steps": list(found.steps),
        "hang": found.hang_risk,
    }

# %% wrong: nothing ever hangs -> card: hangs exactly where steps differ
claims = {}
for letter, setting in four_ways.settings.items():
    flags = {name: value for name, value in setting.items() if name != "batch_size"}
    found = plan(four_ways.samples, setting["batch_size"], four_ways.ranks, **flags)
    claims[letter] = {
        "duplicates": len(found.duplicates),
        "dropped": len(found.dropped),
        "steps": list(found.steps),
        "hang": False,
    }

# %% wrong: split_batches forgotten -> card: the batches hold the reads
claims = {}
for letter, setting in four_ways.settings.items():
    flags = {name: value for name, value in setting.items() if name in ("even_batches", "drop_last")}
    found = plan(four_ways.samples, setting["batch_size"], four_ways.ranks, **flags)
    claims[letter] = {
        "duplicates": len(found.duplicates),
        "dropped": len(found.dropped),
        "steps": list(found.steps),
        "hang": found.hang_risk,
    }

# %% wrong: no duplicates anywhere -> card: the four values contradict each other
claims = {}
for letter, setting in four_ways.settings.items():
    flags = {name: value for name, value in setting.items() if name != "batch_size"}
    found = plan(four_ways.samples, setting["batch_size"], four_ways.ranks, **flags)
    claims[letter] = {
        "duplicates": 10 * len(found.duplicates),
        "dropped": len(found.dropped),
        "steps": list(found.steps),
        "hang": found.hang_risk,
    }

# %% wrong: one number of steps -> card: one a rank
claims = {k: {"duplicates": 0, "dropped": 0, "steps": 3, "hang": False} for k in "ABCD"}

# %% wrong: a setting left out -> card: a claim for each setting
claims = {"A": {"duplicates": 0, "dropped": 0, "steps": [3, 3], "hang": False}}
