"""metrics.pooled"""

# %% right: reference
scores = np.array([*two.rank_0["scores"], *two.rank_1["scores"]])
labels = np.array([*two.rank_0["labels"], *two.rank_1["labels"]])
counts = ConfusionCounts(2)
counts.update((scores >= 0.5).astype(int), labels)
f1_of_all = counts.f1()
auc_of_all = auc(scores, labels)
by_rows = ("AUC", "average precision", "median error", "Spearman correlation")
needs_rows = {metric: metric in by_rows for metric in two.metrics}

# %% right: by hand, pair by pair
pairs = [p for r in (two.rank_0, two.rank_1) for p in zip(r["scores"], r["labels"])]
tp = sum(s >= 0.5 and t == 1 for s, t in pairs)
fp = sum(s >= 0.5 and t == 0 for s, t in pairs)
fn = sum(s < 0.5 and t == 1 for s, t in pairs)
f1_of_all = round(2 * tp / (2 * tp + fp + fn), 3)
positive, negative = ([s for s, t in pairs if t == label] for label in (1, 0))
auc_of_all = round(sum(p > n for p in positive for n in negative) / len(positive) / len(negative), 3)
sums = {"accuracy", "macro F1", "mean squared error", "perplexity", "R2", "Pearson correlation"}
needs_rows = {metric: metric not in sums for metric in two.metrics}

# %% wrong: what was logged -> card: that is the mean of the ranks' F1
def own(r):
    counts = ConfusionCounts(2)
    counts.update((np.array(r["scores"]) >= 0.5).astype(int), r["labels"])
    return counts.f1(), auc(r["scores"], r["labels"])


f1_of_all, auc_of_all = np.mean([own(two.rank_0), own(two.rank_1)], axis=0)
needs_rows = {metric: True for metric in two.metrics}

# %% wrong: weighted AUC -> card: weighted by samples
scores = np.array([*two.rank_0["scores"], *two.rank_1["scores"]])
labels = np.array([*two.rank_0["labels"], *two.rank_1["labels"]])
counts = ConfusionCounts(2)
counts.update((scores >= 0.5).astype(int), labels)
f1_of_all = counts.f1()
parts = [(len(r["labels"]), auc(r["scores"], r["labels"])) for r in (two.rank_0, two.rank_1)]
auc_of_all = sum(n * a for n, a in parts) / sum(n for n, _ in parts)
needs_rows = {metric: True for metric in two.metrics}

# %% wrong: all rows for everything -> card: every metric needs all rows
scores = np.array([*two.rank_0["scores"], *two.rank_1["scores"]])
labels = np.array([*two.rank_0["labels"], *two.rank_1["labels"]])
counts = ConfusionCounts(2)
counts.update((scores >= 0.5).astype(int), labels)
f1_of_all, auc_of_all = counts.f1(), auc(scores, labels)
needs_rows = {metric: True for metric in two.metrics}

# %% wrong: sums for everything -> card: sums are always enough
scores = np.array([*two.rank_0["scores"], *two.rank_1["scores"]])
labels = np.array([*two.rank_0["labels"], *two.rank_1["labels"]])
counts = ConfusionCounts(2)
counts.update((scores >= 0.5).astype(int), labels)
f1_of_all, auc_of_all = counts.f1(), auc(scores, labels)
needs_rows = {metric: False for metric in two.metrics}

# %% wrong: only means are sums -> card: isn't a plain mean
scores = np.array([*two.rank_0["scores"], *two.rank_1["scores"]])
labels = np.array([*two.rank_0["labels"], *two.rank_1["labels"]])
counts = ConfusionCounts(2)
counts.update((scores >= 0.5).astype(int), labels)
f1_of_all, auc_of_all = counts.f1(), auc(scores, labels)
needs_rows = {metric: metric not in ("accuracy", "mean squared error") for metric in two.metrics}

# %% wrong: words -> card: every metric has an answer
f1_of_all, auc_of_all = 0.5, 0.5
needs_rows = {metric: "rows" for metric in two.metrics}
