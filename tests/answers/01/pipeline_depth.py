"""pipeline.depth"""

# %% right: reference
def least_depth(prepare, train):
    depth = 0
    while sum(simulate(prepare, train, depth=depth).waits[1:]) > 0:
        depth += 1
    return depth

# %% right: by halving
def least_depth(prepare, train):
    low, high = 0, len(prepare)
    while low < high:
        middle = (low + high) // 2
        if simulate(prepare, train, depth=middle).makespan > prepare[0] + sum(train):
            low = middle + 1
        else:
            high = middle
    return low

# %% wrong: one more, to be safe -> card: the least depth
def least_depth(prepare, train):
    depth = 0
    while sum(simulate(prepare, train, depth=depth).waits[1:]) > 0:
        depth += 1
    return depth + 1

# %% wrong: a slot for every batch -> card: the least depth
def least_depth(prepare, train):
    return len(prepare)

# %% wrong: torch's default -> card: with that depth only the first wait is left
def least_depth(prepare, train):
    return 1

# %% wrong: the backlog over the mean train time -> card: depth
import math


def least_depth(prepare, train):
    worst = back = 0
    for p, c in zip(prepare, train):
        back = max(0, back + p - c)
        worst = max(worst, back)
    return math.ceil(worst / (sum(train) / len(train)))

# %% wrong: stops when the total wait no longer changes from one depth to the next -> card: only the first wait is left
def least_depth(prepare, train):
    depth = 0
    while sum(simulate(prepare, train, depth=depth).waits) - sum(simulate(prepare, train, depth=depth + 1).waits) > 15:
        depth += 1
    return depth

# %% wrong: a float -> card: the answer is a whole number
def least_depth(prepare, train):
    depth = 0
    while sum(simulate(prepare, train, depth=depth).waits[1:]) > 0:
        depth += 1
    return float(depth)
