"""cursor.mismatch"""

# %% right: reference
after = {row["w"]: row["batches"][-1] + 1 for row in log}
gaps = {letter: checkpoint["cursor"] - after[checkpoint["w"]] for letter, checkpoint in saved.items()}

# %% right: by updates
gaps = {}
for letter, checkpoint in saved.items():
    update = next(row["update"] for row in log if row["w"] == checkpoint["w"])
    gaps[letter] = checkpoint["cursor"] - job.accumulate * update

# %% wrong: the sign -> card: lost and twice exchanged
after = {row["w"]: row["batches"][-1] + 1 for row in log}
gaps = {letter: after[checkpoint["w"]] - checkpoint["cursor"] for letter, checkpoint in saved.items()}

# %% wrong: updates for batches -> card: compared with the number of updates
after = {row["w"]: row["update"] for row in log}
gaps = {letter: checkpoint["cursor"] - after[checkpoint["w"]] for letter, checkpoint in saved.items()}

# %% wrong: one row too late -> card: one row too late
after = {row["w"]: row["batches"][0] for row in log}
gaps = {letter: checkpoint["cursor"] - after[checkpoint["w"]] for letter, checkpoint in saved.items()}

# %% wrong: counted in updates -> card: counted in updates
after = {row["w"]: row["batches"][-1] + 1 for row in log}
gaps = {k: int((one["cursor"] - after[one["w"]]) / job.accumulate) for k, one in saved.items()}

# %% wrong: all right -> card: which batches are applied by then
gaps = dict.fromkeys("ABCDE", 0)

# %% wrong: words -> card: a whole number for each of A to E
gaps = {"A": "lost", "B": "right", "C": "twice", "D": "lost", "E": "lost"}
