"""resume.torch"""

# %% right: reference
parts = ["model", "optimizer", "scheduler", "step", "samplePosition", "sampleOrder", "rngState"]
how = "copied"
rates = (0.02 * job.decay**job.checkpoint, 0.02 * job.decay)

# %% right: by leaving out, and to four digits
parts = tuple(part for part in PARTS if part not in ("gradients", "loss"))
how = "copied"
rates = [float(f"{0.02 * job.decay**job.checkpoint:.4g}"), float(f"{0.02 * job.decay:.4g}")]
rates = [round(rates[0], 7), round(rates[1], 7)]

# %% wrong: live tensors -> card: hands out the live tensors
parts = ["model", "optimizer", "scheduler", "step", "samplePosition", "sampleOrder", "rngState"]
how = "live"
rates = (0.02 * job.decay**job.checkpoint, 0.02 * job.decay)

# %% wrong: no scheduler -> card: a part that this update reads was not kept
parts = ["model", "optimizer", "step", "samplePosition", "sampleOrder", "rngState"]
how = "copied"
rates = (0.02 * job.decay**job.checkpoint, 0.02 * job.decay)

# %% wrong: model and optimizer, as most examples have it -> card: a part that this update reads was not kept
parts = ["model", "optimizer"]
how = "copied"
rates = (0.02 * job.decay**job.checkpoint, 0.02 * job.decay)

# %% wrong: everything there is -> card: an update writes it before it reads it
parts = list(PARTS)
how = "copied"
rates = (0.02 * job.decay**job.checkpoint, 0.02 * job.decay)

# %% wrong: the loss as well -> card: no update reads it
parts = ["loss", "model", "optimizer", "scheduler", "step", "samplePosition", "sampleOrder", "rngState"]
how = "copied"
rates = (0.02 * job.decay**job.checkpoint, 0.02 * job.decay)

# %% wrong: the schedule starts anew at once -> card: where is the rate of the next update kept?
parts = ["model", "optimizer", "scheduler", "step", "samplePosition", "sampleOrder", "rngState"]
how = "copied"
rates = (0.02, 0.02 * job.decay)

# %% wrong: as if it were there -> card: the rates of a right resume
parts = ["model", "optimizer", "scheduler", "step", "samplePosition", "sampleOrder", "rngState"]
how = "copied"
rates = (0.02 * job.decay**job.checkpoint, 0.02 * job.decay ** (job.checkpoint + 1))

# %% wrong: no such part -> card: copy names from the list
parts, how, rates = ["weights"], "copied", (0.02, 0.02)
