"""contract.ranks"""

# %% right: reference
four = {"batch_size": job.batch_size, "accumulate": job.accumulate, "cursor": job.step * job.accumulate}
two = {"batch_size": job.batch_size, "accumulate": 2 * job.accumulate, "cursor": 2 * job.step * job.accumulate}
promise = {"four": "bitwise", "two": "sample-exact"}

# %% right: larger batches
four = {"batch_size": job.batch_size, "accumulate": job.accumulate, "cursor": job.step * job.accumulate}
two = four | {"batch_size": 2 * job.batch_size}
promise = dict(four="bitwise", two="sample-exact")

# %% wrong: nothing changed -> card: half the samples
four = {"batch_size": job.batch_size, "accumulate": job.accumulate, "cursor": job.step * job.accumulate}
two = four
promise = {"four": "bitwise", "two": "bitwise"}

# %% wrong: the cursor of four -> card: the cursor of the run on four ranks
four = {"batch_size": job.batch_size, "accumulate": job.accumulate, "cursor": job.step * job.accumulate}
two = four | {"accumulate": 2 * job.accumulate}
promise = {"four": "bitwise", "two": "sample-exact"}

# %% wrong: updates -> card: updates, but the cursor counts batches
four = {"batch_size": job.batch_size, "accumulate": job.accumulate, "cursor": job.step}
two = {"batch_size": job.batch_size, "accumulate": 2 * job.accumulate, "cursor": job.step}
promise = {"four": "bitwise", "two": "sample-exact"}

# %% wrong: all ranks' batches -> card: batches of all ranks together
four = {"batch_size": job.batch_size, "accumulate": job.accumulate, "cursor": 4 * job.step * job.accumulate}
two = {"batch_size": job.batch_size, "accumulate": 2 * job.accumulate, "cursor": 2 * job.step * job.accumulate}
promise = {"four": "bitwise", "two": "sample-exact"}

# %% wrong: bitwise on two -> card: added up in another order
four = {"batch_size": job.batch_size, "accumulate": job.accumulate, "cursor": job.step * job.accumulate}
two = {"batch_size": job.batch_size, "accumulate": 2 * job.accumulate, "cursor": 2 * job.step * job.accumulate}
promise = {"four": "bitwise", "two": "bitwise"}

# %% wrong: too modest -> card: more can be promised
four = {"batch_size": job.batch_size, "accumulate": job.accumulate, "cursor": job.step * job.accumulate}
two = {"batch_size": job.batch_size, "accumulate": 2 * job.accumulate, "cursor": 2 * job.step * job.accumulate}
promise = {"four": "sample-exact", "two": "statistical"}

# %% wrong: words -> card: three whole numbers
four = two = {"batch_size": "as before", "accumulate": 1, "cursor": 0}
promise = {"four": "bitwise", "two": "bitwise"}
