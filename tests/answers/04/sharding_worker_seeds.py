"""sharding.worker_seeds"""

# %% right: reference
alike = {}
for name, rows in drawn.groupby("job"):
    cells = {(r, w): (a, b) for r, w, a, b in rows[["rank", "worker", "epoch 0", "epoch 1"]].itertuples(index=False)}
    alike[name] = []
    if cells[0, 0] == cells[0, 1]:
        alike[name].append("workers")
    if cells[0, 0] == cells[1, 0]:
        alike[name].append("ranks")
    if cells[0, 0][0] == cells[0, 0][1]:
        alike[name].append("epochs")

# %% right: by how many different cells there are
alike = {}
for name, rows in drawn.groupby("job"):
    by_rank = rows.groupby("rank")["epoch 0"].nunique()
    by_worker = rows.groupby("worker")["epoch 0"].nunique()
    words = [("workers", by_rank.max() == 1), ("ranks", by_worker.max() == 1), ("epochs", (rows["epoch 0"] == rows["epoch 1"]).all())]
    alike[name] = tuple(word for word, same in words if same)

# %% wrong: all sound -> card: every job is sound
alike = {"A": [], "B": [], "C": [], "D": []}

# %% wrong: all alike -> card: alike everywhere
alike = {name: ["workers", "ranks", "epochs"] for name in "ABCD"}

# %% wrong: what differs -> card: what differs
alike = {}
for name, rows in drawn.groupby("job"):
    cells = {(r, w): (a, b) for r, w, a, b in rows[["rank", "worker", "epoch 0", "epoch 1"]].itertuples(index=False)}
    same = {"workers": cells[0, 0] == cells[0, 1], "ranks": cells[0, 0] == cells[1, 0], "epochs": cells[0, 0][0] == cells[0, 0][1]}
    alike[name] = [word for word, equal in same.items() if not equal]

# %% wrong: rank 0 alone -> card: jobs are not so
alike = {}
for name, rows in drawn[drawn["rank"] == 0].groupby("job"):
    alike[name] = ["workers"] if rows["epoch 0"].nunique() == 1 else []

# %% wrong: the audit's words -> card: a list with some of
alike = {name: ["same-draws-on-ranks"] for name in "ABCD"}

# %% wrong: yes or no -> card: a list with some of
alike = dict.fromkeys("ABCD", True)
