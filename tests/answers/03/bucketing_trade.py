"""bucketing.trade"""

# %% right: reference
rows = table.table
row = rows[(rows["batches"] == "sorted") & (rows["padding %"] <= own.padding_at_most)].iloc[0]
pool = int(row["batches in a pool"])
padding = round(float(row["padding %"]), 1)
correlation = float(row["correlation"])
changes = "correlation"

# %% right: computed, unrounded
for pool in (1, 2, 5, 10, 20, 40, 80):
    batches = bucketing.bucketed(own_lengths, own.batch_size, pool=pool, seed=own.seed)
    found = bucketing.trade(own_lengths, batches)
    if 100 * found.padding <= own.padding_at_most:
        break
padding, correlation = 100 * found.padding, found.correlation
changes = "correlation"

# %% wrong: everything sorted -> card: the smallest of the pools
found = bucketing.trade(own_lengths, bucketing.bucketed(own_lengths, own.batch_size, pool=80, seed=own.seed))
pool, padding, correlation, changes = 80, round(100 * found.padding, 1), round(found.correlation, 2), "correlation"

# %% wrong: no buckets -> card: larger pools hold more samples
found = bucketing.trade(own_lengths, bucketing.bucketed(own_lengths, own.batch_size, pool=1, seed=own.seed))
pool, padding, correlation, changes = 1, round(100 * found.padding, 1), round(found.correlation, 2), "correlation"

# %% wrong: a share -> card: give percent
rows = table.table
row = rows[(rows["batches"] == "sorted") & (rows["padding %"] <= own.padding_at_most)].iloc[0]
pool, padding = int(row["batches in a pool"]), round(float(row["padding %"]) / 100, 3)
correlation, changes = float(row["correlation"]), "correlation"

# %% wrong: the correlation of the shuffled row -> card: read both figures from the same row
rows = table.table
row = rows[(rows["batches"] == "sorted") & (rows["padding %"] <= own.padding_at_most)].iloc[0]
pool, padding, changes = int(row["batches in a pool"]), round(float(row["padding %"]), 1), "correlation"
mixed = rows[(rows["batches"] == "shuffled") & (rows["batches in a pool"] == pool)].iloc[0]
correlation = float(mixed["correlation"])

# %% wrong: both change -> card: padding belongs to a batch
rows = table.table
row = rows[(rows["batches"] == "sorted") & (rows["padding %"] <= own.padding_at_most)].iloc[0]
pool, padding = int(row["batches in a pool"]), round(float(row["padding %"]), 1)
correlation, changes = float(row["correlation"]), "both"

# %% wrong: a pool that isn't in the table -> card: one of 1, 2, 5
pool, padding, correlation, changes = 7, 20.0, 0.3, "correlation"
