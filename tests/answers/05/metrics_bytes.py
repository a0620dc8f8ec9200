"""metrics.bytes"""

# %% right: reference
ways = {"mean loss": "reduce", "F1": "reduce", "AUC": "gather"}
gathered = (4 + 8) * job.samples
reduced = 3 * 8 * job.ranks

# %% right: by counting
ways = dict(AUC="gather") | {metric: "reduce" for metric in ("mean loss", "F1")}
row = torch.zeros(1, dtype=torch.float32).nbytes + torch.zeros(1, dtype=torch.int64).nbytes
gathered = job.samples * row
reduced = job.ranks * torch.zeros(3, dtype=torch.float64).nbytes

# %% wrong: reduce everything -> card: it compares samples of different ranks
ways = dict.fromkeys(("mean loss", "F1", "AUC"), "reduce")
gathered, reduced = 12 * job.samples, 24 * job.ranks

# %% wrong: gather everything -> card: stays within its bytes
ways = dict.fromkeys(("mean loss", "F1", "AUC"), "gather")
gathered, reduced = 12 * job.samples, 24 * job.ranks

# %% wrong: F1 gathered -> card: rows are gathered for a metric that a few sums would give
ways = {"mean loss": "reduce", "F1": "gather", "AUC": "gather"}
gathered, reduced = 12 * job.samples, 24 * job.ranks

# %% wrong: rows to every rank -> card: sent to every rank
ways = {"mean loss": "reduce", "F1": "reduce", "AUC": "gather"}
gathered, reduced = 12 * job.samples * job.ranks, 24 * job.ranks

# %% wrong: one rank's three numbers -> card: one rank's numbers
ways = {"mean loss": "reduce", "F1": "reduce", "AUC": "gather"}
gathered, reduced = 12 * job.samples, 24

# %% wrong: scores alone -> card: the scores alone
ways = {"mean loss": "reduce", "F1": "reduce", "AUC": "gather"}
gathered, reduced = 4 * job.samples, 24 * job.ranks

# %% wrong: another word -> card: a way for each metric
ways = {"mean loss": "sum", "F1": "sum", "AUC": "all"}
gathered, reduced = 12 * job.samples, 24 * job.ranks
