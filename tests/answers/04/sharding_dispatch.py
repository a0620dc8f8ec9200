"""sharding.dispatch"""

# %% right: reference
def column(mode, name, others):
    rows = table[(table["mode"] == mode) & ((table["rank"] > 0) == others)]
    return int(rows[name].sum())


shard_reads = column("shard", "reads", False)
dispatch_reads = column("broadcast", "reads", False)
broadcast = column("broadcast", "payload", True)
scatter = column("scatter", "payload", True)

# %% right: from the plans
from labkit.sharding import plan_dispatch

N, B, P = wire.samples, wire.batch_size, wire.ranks
shard_reads = sum(map(len, plan(N, B, P).per_rank[P - 1]))
dispatch_reads = N + len(plan_dispatch(N, B, P).duplicates)
broadcast = dispatch_reads * (P - 1) * wire.sample_bytes
scatter = broadcast // P

# %% wrong: both ends of the wire added -> card: each byte counted twice
shard_reads, dispatch_reads = traffic.modes[0].reads[0], traffic.modes[1].reads[0]
broadcast, scatter = sum(traffic.modes[1].payload), sum(traffic.modes[2].payload)

# %% wrong: one rank's bytes -> card: what one rank receives
shard_reads, dispatch_reads = traffic.modes[0].reads[0], traffic.modes[1].reads[0]
broadcast, scatter = traffic.modes[1].payload[1], traffic.modes[2].payload[1]

# %% wrong: the reads of all ranks -> card: all ranks read together
shard_reads, dispatch_reads = sum(traffic.modes[0].reads), traffic.modes[1].reads[0]
broadcast, scatter = sum(traffic.modes[1].payload[1:]), sum(traffic.modes[2].payload[1:])

# %% wrong: nothing is borrowed -> card: without what is borrowed
shard_reads, dispatch_reads = traffic.modes[0].reads[0], wire.samples
broadcast, scatter = sum(traffic.modes[1].payload[1:]), sum(traffic.modes[2].payload[1:])

# %% wrong: the two exchanged -> card: did the two change places
shard_reads, dispatch_reads = traffic.modes[0].reads[0], traffic.modes[1].reads[0]
broadcast, scatter = sum(traffic.modes[2].payload[1:]), sum(traffic.modes[1].payload[1:])

# %% wrong: rank 0's own slice is sent too -> card: rank 0's own included
shard_reads, dispatch_reads = traffic.modes[0].reads[0], traffic.modes[1].reads[0]
broadcast = sum(traffic.modes[1].payload[1:])
scatter = dispatch_reads * wire.sample_bytes

# %% wrong: kilobytes -> card: a whole number
shard_reads, dispatch_reads = traffic.modes[0].reads[0], traffic.modes[1].reads[0]
broadcast, scatter = 71.5, 20.25
