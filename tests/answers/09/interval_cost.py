"""interval.cost"""

# %% right: reference
save_every = job.at_most
largest = "restart"

# %% right: from a ledger of one's own
save_every = next(n for n in range(200, 0, -1) if n <= job.at_most)
parts = recovery_ledger(kill_at=save_every + 1, save_every=save_every, step_seconds=0.001, poll_seconds=0.01).frame()
largest = parts["part"][int(parts["seconds"].argmax())]

# %% wrong: the mean loss -> card: that bounds the mean loss
save_every, largest = 2 * job.at_most, "restart"

# %% wrong: one more -> card: just before a save loses them all
save_every, largest = job.at_most + 1, "restart"

# %% wrong: half, to be safe -> card: paid for with more saves
save_every, largest = job.at_most // 2, "restart"

# %% wrong: the load -> card: less than a third
save_every, largest = job.at_most, "load"

# %% wrong: never -> card: never saving bounds nothing
save_every, largest = 0, "restart"

# %% wrong: a part of one's own -> card: one of
save_every, largest = job.at_most, "waiting"
