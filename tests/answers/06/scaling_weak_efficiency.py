"""scaling.weak_efficiency"""

# %% right: reference
def weak_efficiency(runs):
    rates = {run["ranks"]: run["samples_per_second"] for run in runs}
    if len({run["batch_size"] for run in runs}) > 1 or 1 not in rates:
        return None
    return {ranks: rate / (ranks * rates[1]) for ranks, rate in rates.items()}

# %% right: by step times
def weak_efficiency(runs):
    if any(run["batch_size"] != runs[0]["batch_size"] for run in runs):
        return None
    seconds = {run["ranks"]: run["ranks"] * run["batch_size"] / run["samples_per_second"] for run in runs}
    alone = seconds.get(1)
    return alone and {ranks: alone / seconds[ranks] for ranks in sorted(seconds)}

# %% right: keys as JSON makes them, in single precision
import numpy as np


def weak_efficiency(runs):
    rates = {run["ranks"]: np.float32(run["samples_per_second"]) for run in runs}
    if len({run["batch_size"] for run in runs}) > 1 or 1 not in rates:
        return None
    return {str(ranks): rates[ranks] / np.float32(ranks) / rates[1] for ranks in rates}

# %% wrong: the speed-up -> card: that is the speed-up
def weak_efficiency(runs):
    rates = {run["ranks"]: run["samples_per_second"] for run in runs}
    if len({run["batch_size"] for run in runs}) > 1 or 1 not in rates:
        return None
    return {ranks: rate / rates[1] for ranks, rate in rates.items()}

# %% wrong: the wrong way round -> card: the wrong way round
def weak_efficiency(runs):
    rates = {run["ranks"]: run["samples_per_second"] for run in runs}
    if len({run["batch_size"] for run in runs}) > 1 or 1 not in rates:
        return None
    return {ranks: ranks * rates[1] / rate for ranks, rate in rates.items()}

# %% wrong: divides twice -> card: once too often
def weak_efficiency(runs):
    rates = {run["ranks"]: run["samples_per_second"] for run in runs}
    if len({run["batch_size"] for run in runs}) > 1 or 1 not in rates:
        return None
    return {ranks: rate / (ranks * ranks * rates[1]) for ranks, rate in rates.items()}

# %% wrong: whatever the work -> card: a rank's work changes
def weak_efficiency(runs):
    rates = {run["ranks"]: run["samples_per_second"] for run in runs}
    return {ranks: rate / (ranks * rates.get(1, rate)) for ranks, rate in rates.items()}

# %% wrong: the first run for one rank -> card: no run on 1 rank
def weak_efficiency(runs):
    if len({run["batch_size"] for run in runs}) > 1:
        return None
    first = runs[0]["samples_per_second"] / runs[0]["ranks"]
    return {run["ranks"]: run["samples_per_second"] / (run["ranks"] * first) for run in runs}

# %% wrong: needs one rank -> card: KeyError
def weak_efficiency(runs):
    rates = {run["ranks"]: run["samples_per_second"] for run in runs}
    return {ranks: rate / (ranks * rates[1]) for ranks, rate in rates.items()}

# %% wrong: a list -> card: a number for each number of ranks
def weak_efficiency(runs):
    rates = {run["ranks"]: run["samples_per_second"] for run in runs}
    if len({run["batch_size"] for run in runs}) > 1 or 1 not in rates:
        return None
    return [rate / (ranks * rates[1]) for ranks, rate in rates.items()]
