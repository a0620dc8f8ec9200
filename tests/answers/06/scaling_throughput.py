"""scaling.throughput"""

# %% right: reference
from statistics import median


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted([max(times) for times in zip(*seconds)][warmup:])
    kept = slowest[discard : len(slowest) - discard]
    return len(seconds) * batch_size * steps / median(kept)

# %% right: with NumPy
import numpy as np


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = np.sort(np.array(seconds)[:, warmup:].max(axis=0))
    for _ in range(discard):
        slowest = slowest[1:-1]
    return np.array(seconds).shape[0] * batch_size * steps / np.median(slowest)

# %% wrong: the fastest rank -> card: takes the fastest rank
from statistics import median


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    fastest = sorted([min(times) for times in zip(*seconds)][warmup:])
    return len(seconds) * batch_size * steps / median(fastest[discard : len(fastest) - discard])

# %% wrong: the mean over ranks -> card: the mean over ranks
from statistics import mean, median


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    middle = sorted([mean(times) for times in zip(*seconds)][warmup:])
    return len(seconds) * batch_size * steps / median(middle[discard : len(middle) - discard])

# %% wrong: the mean of the intervals -> card: not the median
from statistics import mean


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted([max(times) for times in zip(*seconds)][warmup:])
    return len(seconds) * batch_size * steps / mean(slowest[discard : len(slowest) - discard])

# %% wrong: the warm-up stays in -> card: the warm-up intervals are in it
from statistics import median


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted(max(times) for times in zip(*seconds))
    return len(seconds) * batch_size * steps / median(slowest[discard : len(slowest) - discard])

# %% wrong: cut before sorting -> card: the ends were cut before
from statistics import median


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = [max(times) for times in zip(*seconds)][warmup:]
    return len(seconds) * batch_size * steps / median(slowest[discard : len(slowest) - discard])

# %% wrong: one rank's samples -> card: one rank's samples
from statistics import median


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted([max(times) for times in zip(*seconds)][warmup:])
    return batch_size * steps / median(slowest[discard : len(slowest) - discard])

# %% wrong: minus nothing -> card: the function gives an answer
from statistics import median


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted([max(times) for times in zip(*seconds)][warmup:])
    return len(seconds) * batch_size * steps / median(slowest[discard:-discard])

# %% wrong: forgets the steps -> card: no rate that no interval had
from statistics import median


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted([max(times) for times in zip(*seconds)][warmup:])
    return len(seconds) * batch_size / median(slowest[discard : len(slowest) - discard])
