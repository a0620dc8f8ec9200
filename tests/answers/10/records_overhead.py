"""records.overhead"""

# %% right: reference
write, keep = "each step", "spikes"
lost = {"each step": 0, "every 50 steps": job.killed % 50, "at the end": job.killed}

# %% right: tried out
write, keep = "each step", "spikes"
lost = {way: killed_run(way, "nothing", job.killed, job.spike)["lost"] for way in ("each step", "every 50 steps", "at the end")}

# %% wrong: at the end -> card: die with it
write, keep = "at the end", "spikes"
lost = {"each step": 0, "every 50 steps": job.killed % 50, "at the end": job.killed}

# %% wrong: every 50 -> card: at most one step lost
write, keep = "every 50 steps", "spikes"
lost = {"each step": 0, "every 50 steps": job.killed % 50, "at the end": job.killed}

# %% wrong: every batch -> card: every step writes a whole batch
write, keep = "each step", "every batch"
lost = {"each step": 0, "every 50 steps": job.killed % 50, "at the end": job.killed}

# %% wrong: nothing kept -> card: the batch behind the spike, to look at
write, keep = "each step", "nothing"
lost = {"each step": 0, "every 50 steps": job.killed % 50, "at the end": job.killed}

# %% wrong: one lost -> card: as if a kill lost what the system holds
write, keep = "each step", "spikes"
lost = {"each step": 1, "every 50 steps": job.killed % 50, "at the end": job.killed}

# %% wrong: what is written -> card: the steps written, not the steps lost
write, keep = "each step", "spikes"
lost = {"each step": 0, "every 50 steps": job.killed - job.killed % 50, "at the end": job.killed}

# %% wrong: an end is written -> card: still wrote its end
write, keep = "each step", "spikes"
lost = {"each step": 0, "every 50 steps": job.killed % 50, "at the end": 0}

# %% wrong: another word -> card: a way to write
write, keep = "always", "all"
lost = {"each step": 0, "every 50 steps": job.killed % 50, "at the end": job.killed}
