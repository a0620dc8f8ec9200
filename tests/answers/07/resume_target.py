"""resume.target"""

# %% right: reference
updates = job.steps - job.checkpoint
position = 4 * ((job.steps - 1) % 4 + 1)
shuffles = sum(step % 4 == 1 for step in range(job.checkpoint + 1, job.steps + 1))

# %% right: by running it
run = train(job.steps, resume=train(job.checkpoint).state)
updates = len(run.records)
position = run.state["samplePosition"]
orders = [train(job.checkpoint).state["sampleOrder"], *(list(record.order) for record in run.records)]
shuffles = sum(a != b for a, b in zip(orders, orders[1:]))

# %% wrong: so many more -> card: steps was taken as so many more
updates = job.steps
position = 4 * ((job.checkpoint + job.steps - 1) % 4 + 1)
shuffles = job.steps // 4

# %% wrong: one too many -> card: one too many
updates = job.steps - job.checkpoint + 1
position = 4 * ((job.steps - 1) % 4 + 1)
shuffles = sum(step % 4 == 1 for step in range(job.checkpoint + 1, job.steps + 1))

# %% wrong: the cursor starts anew -> card: position = 20
updates = job.steps - job.checkpoint
position = 20
shuffles = 0

# %% wrong: shuffles from the start -> card: the shuffles of a run from the start
updates = job.steps - job.checkpoint
position = 4 * ((job.steps - 1) % 4 + 1)
shuffles = sum(step % 4 == 1 for step in range(1, job.steps + 1))

# %% wrong: not a number -> card: three whole numbers
updates, position, shuffles = "61", 16, 15
