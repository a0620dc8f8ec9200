"""shuffle.quality"""

# %% right: reference
def quality(order, batch_size):
    n, b = len(order), batch_size

    def mixing(places):
        means = [sum(places[i : i + b]) / b for i in range(0, n - b + 1, b)]
        return sum((mean - (n - 1) / 2) ** 2 for mean in means) / len(means)

    none, full = mixing(range(n)), (n + 1) * (n - b) / (12 * b)
    return (none - mixing(order)) / (none - full)

# %% right: with numpy
import numpy as np


def quality(order, batch_size):
    n = len(order)

    def mixing(places):
        whole = np.array(places[: n // batch_size * batch_size], float).reshape(-1, batch_size)
        return np.mean((whole.mean(axis=1) - (n - 1) / 2) ** 2)

    none = mixing(list(range(n)))
    return (none - mixing(order)) / (none - (n + 1) * (n - batch_size) / 12 / batch_size)

# %% wrong: the other way round -> card: the other way round
def quality(order, batch_size):
    n, b = len(order), batch_size

    def mixing(places):
        means = [sum(places[i : i + b]) / b for i in range(0, n - b + 1, b)]
        return sum((mean - (n - 1) / 2) ** 2 for mean in means) / len(means)

    none, full = mixing(range(n)), (n + 1) * (n - b) / (12 * b)
    return (mixing(order) - full) / (none - full)

# %% wrong: full taken as 0 -> card: scaled to a `full` of 0
def quality(order, batch_size):
    n, b = len(order), batch_size

    def mixing(places):
        means = [sum(places[i : i + b]) / b for i in range(0, n - b + 1, b)]
        return sum((mean - (n - 1) / 2) ** 2 for mean in means) / len(means)

    none = mixing(range(n))
    return (none - mixing(order)) / none

# %% wrong: with replacement -> card: drawing without replacement
def quality(order, batch_size):
    n, b = len(order), batch_size

    def mixing(places):
        means = [sum(places[i : i + b]) / b for i in range(0, n - b + 1, b)]
        return sum((mean - (n - 1) / 2) ** 2 for mean in means) / len(means)

    none, full = mixing(range(n)), (n**2 - 1) / (12 * b)
    return (none - mixing(order)) / (none - full)

# %% wrong: the last short batch counts -> card: a last batch that isn't full
def quality(order, batch_size):
    n, b = len(order), batch_size

    def mixing(places):
        parts = [places[i : i + b] for i in range(0, n, b)]
        return sum((sum(p) / len(p) - (n - 1) / 2) ** 2 for p in parts) / len(parts)

    none, full = mixing(range(n)), (n + 1) * (n - b) / (12 * b)
    return (none - mixing(order)) / (none - full)

# %% wrong: cut off at 0 and 1 -> card: cut off at 0 and 1
def quality(order, batch_size):
    n, b = len(order), batch_size

    def mixing(places):
        means = [sum(places[i : i + b]) / b for i in range(0, n - b + 1, b)]
        return sum((mean - (n - 1) / 2) ** 2 for mean in means) / len(means)

    none, full = mixing(range(n)), (n + 1) * (n - b) / (12 * b)
    return min(1, max(0, (none - mixing(order)) / (none - full)))

# %% wrong: mixing alone -> card: mixing itself, without a scale
def quality(order, batch_size):
    n, b = len(order), batch_size
    means = [sum(order[i : i + b]) / b for i in range(0, n - b + 1, b)]
    return sum((mean - (n - 1) / 2) ** 2 for mean in means) / len(means)

# %% wrong: the middle is n / 2 -> card: (none - mixing) / (none - full)
def quality(order, batch_size):
    n, b = len(order), batch_size

    def mixing(places):
        means = [sum(places[i : i + b]) / b for i in range(0, n - b + 1, b)]
        return sum((mean - n / 2) ** 2 for mean in means) / len(means)

    none, full = mixing(range(n)), (n + 1) * (n - b) / (12 * b)
    return (none - mixing(order)) / (none - full)

# %% wrong: a list -> card: the answer is one number
def quality(order, batch_size):
    return [0.5]
