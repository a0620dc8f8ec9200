"""cursor.prefetched"""

# %% right: reference
cursor = mine.handed_out - 1
asked = mine.handed_out + mine.workers * mine.prefetch_factor
lost = (asked - cursor) * mine.batch_size
twice = (cursor - mine.older) * mine.batch_size

# %% right: counted
cursor = len(range(mine.handed_out)[:-1])
asked = read_ahead(mine.handed_out, mine.workers, mine.prefetch_factor)
lost = mine.batch_size * len(range(cursor, asked))
twice = mine.batch_size * len(range(mine.older, cursor))

# %% wrong: handed out is applied -> card: the batch in the forward pass counted as applied
cursor = mine.handed_out
asked = cursor + mine.workers * mine.prefetch_factor
lost = (asked - cursor) * mine.batch_size
twice = (cursor - mine.older) * mine.batch_size

# %% wrong: the loader's position -> card: what the workers were asked for
asked = mine.handed_out + mine.workers * mine.prefetch_factor
cursor = asked
lost, twice = 0, 0

# %% wrong: one worker -> card: one worker's share
cursor = mine.handed_out - 1
asked = mine.handed_out + mine.prefetch_factor
lost = (asked - cursor) * mine.batch_size
twice = (cursor - mine.older) * mine.batch_size

# %% wrong: batches -> card: batches, not samples
cursor = mine.handed_out - 1
asked = mine.handed_out + mine.workers * mine.prefetch_factor
lost = asked - cursor
twice = cursor - mine.older

# %% wrong: the queue alone -> card: the batch in the forward pass is lost too
cursor = mine.handed_out - 1
asked = mine.handed_out + mine.workers * mine.prefetch_factor
lost = mine.workers * mine.prefetch_factor * mine.batch_size
twice = (cursor - mine.older) * mine.batch_size

# %% wrong: exchanged -> card: did the two change places
asked = mine.handed_out - 1
cursor = mine.handed_out + mine.workers * mine.prefetch_factor
lost, twice = 0, 0

# %% wrong: words -> card: four whole numbers
cursor = asked = lost = twice = "ten"
