"""scaling.throughput"""

# %% right: reference
from statistics import mean


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted([max(times) for times in zip(*seconds)][warmup:])
    kept = slowest[discard : len(slowest) - discard]
    return len(seconds) * batch_size * steps / mean(kept)

# %% right: with NumPy, in single precision
import numpy as np


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = np.sort(np.array(seconds, dtype=np.float32)[:, warmup:].max(axis=0))
    for _ in range(discard):
        slowest = slowest[1:-1]
    return np.float32(len(seconds) * batch_size * steps) / slowest.mean()

# %% right: with torch
import torch


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = torch.tensor(seconds)[:, warmup:].amax(0).sort().values
    return len(seconds) * batch_size * steps / slowest[discard : len(slowest) - discard].mean()

# %% wrong: the fastest rank -> card: takes the fastest rank
from statistics import mean


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    fastest = sorted([min(times) for times in zip(*seconds)][warmup:])
    return len(seconds) * batch_size * steps / mean(fastest[discard : len(fastest) - discard])

# %% wrong: the mean over ranks -> card: the mean over ranks
from statistics import mean


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    middle = sorted([mean(times) for times in zip(*seconds)][warmup:])
    return len(seconds) * batch_size * steps / mean(middle[discard : len(middle) - discard])

# %% wrong: the median of the intervals -> card: the median in place of the mean
from statistics import median


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted([max(times) for times in zip(*seconds)][warmup:])
    return len(seconds) * batch_size * steps / median(slowest[discard : len(slowest) - discard])

# %% wrong: discards nothing -> card: no interval was discarded
from statistics import mean


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = [max(times) for times in zip(*seconds)][warmup:]
    return len(seconds) * batch_size * steps / mean(slowest)

# %% wrong: the warm-up stays in -> card: the warm-up intervals are in it
from statistics import mean


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted(max(times) for times in zip(*seconds))
    return len(seconds) * batch_size * steps / mean(slowest[discard : len(slowest) - discard])

# %% wrong: cut before sorting -> card: the ends were cut before
from statistics import mean


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = [max(times) for times in zip(*seconds)][warmup:]
    return len(seconds) * batch_size * steps / mean(slowest[discard : len(slowest) - discard])

# %% wrong: one rank's samples -> card: one rank's samples
from statistics import mean


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted([max(times) for times in zip(*seconds)][warmup:])
    return batch_size * steps / mean(slowest[discard : len(slowest) - discard])

# %% wrong: minus nothing -> card: the function gives an answer
from statistics import mean


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted([max(times) for times in zip(*seconds)][warmup:])
    return len(seconds) * batch_size * steps / mean(slowest[discard:-discard])

# %% wrong: forgets the steps -> card: the rate lies between those of the slowest
from statistics import mean


def samples_per_second(seconds, batch_size, steps, warmup, discard):
    slowest = sorted([max(times) for times in zip(*seconds)][warmup:])
    return len(seconds) * batch_size / mean(slowest[discard : len(slowest) - discard])
