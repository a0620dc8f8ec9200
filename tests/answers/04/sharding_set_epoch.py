"""sharding.set_epoch"""

# %% right: reference
repeats = [i for i, order in enumerate(history[0]) if order in history[0][:i]]
saw = len({one for order in history[0] for one in order})

# %% right: from the log and the plan, without the run
keys = [seed + epoch for seed, epoch in restarts.log]
repeats = tuple(i for i in range(len(keys)) if keys[i] in keys[:i])
plans = [plan_distributed_sampler(restarts.samples, restarts.ranks, shuffle=True, seed=key) for key in set(keys)]
saw = len({one for each in plans for batch in each.per_rank[0] for one in batch})

# %% wrong: the epoch numbers that come again -> card: comparing the epoch numbers alone
epochs = [epoch for _, epoch in restarts.log]
repeats = [i for i, epoch in enumerate(epochs) if epoch in epochs[:i]]
saw = len({one for order in history[0] for one in order})

# %% wrong: every pair differs, so nothing repeats -> card: seed and epoch as a pair
log = [tuple(line) for line in restarts.log]
repeats = [i for i, line in enumerate(log) if line in log[:i]]
saw = len({one for order in history[0] for one in order})

# %% wrong: both of each pair -> card: the first time included
repeats = [i for i, order in enumerate(history[0]) if history[0].count(order) > 1]
saw = len({one for order in history[0] for one in order})

# %% wrong: a line that isn't there -> card: is a line of the log
repeats = [len(restarts.log)]
saw = 10

# %% wrong: the reads added up -> card: every epoch's samples added up
repeats = [i for i, order in enumerate(history[0]) if order in history[0][:i]]
saw = sum(map(len, history[0]))

# %% wrong: all samples -> card: all samples of the data set
repeats = [i for i, order in enumerate(history[0]) if order in history[0][:i]]
saw = restarts.samples

# %% wrong: the samples themselves -> card: a whole number
repeats = [i for i, order in enumerate(history[0]) if order in history[0][:i]]
saw = sorted({one for order in history[0] for one in order})
