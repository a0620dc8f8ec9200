"""pipeline.hopeless"""

# %% right: reference
helps = {
    letter: simulate(line["prepare"], line["train"], batches=8).makespan
    < simulate(line["prepare"], line["train"], batches=8, depth=line["depth"]).makespan
    for letter, line in five.lines.items()
}

# %% right: by stalls at one slot more and more
helps = {}
for letter in five.lines:
    p, c, k = (five.lines[letter][name] for name in ("prepare", "train", "depth"))
    stalls = [sum(simulate(p, [c] * len(p), depth=d).waits) for d in range(k, k + 8)]
    helps[letter] = min(stalls) < stalls[0]

# %% wrong: always -> card: more depth always helps
helps = dict.fromkeys("ABCDE", True)

# %% wrong: never -> card: depth never helps
helps = dict.fromkeys("ABCDE", False)

# %% wrong: wherever the trainer waits -> card: wherever the trainer waits
helps = {
    letter: simulate(line["prepare"], line["train"], batches=8, depth=line["depth"]).stall > 0
    for letter, line in five.lines.items()
}

# %% wrong: wherever it is faster on average -> card: faster on average
helps = {letter: sum(line["prepare"]) / 8 < line["train"] for letter, line in five.lines.items()}

# %% wrong: uneven batches -> card: batches are uneven
helps = {letter: len(set(line["prepare"])) > 1 for letter, line in five.lines.items()}

# %% wrong: words -> card: True or False for each
helps = dict.fromkeys("ABCDE", "yes")
