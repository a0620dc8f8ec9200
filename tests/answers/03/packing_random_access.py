"""packing.random_access"""

# %% right: reference
costs = packing.access_costs(one_packs, single.want, single.restart).set_index(["format", "reader"])
through = int(costs.loc[("tar", "no index"), "bytes for one"])
direct = int(costs.loc[("tar", "index"), "bytes for one"])
again = int(costs.loc[("tar", "no index"), "thrown away"])
on_average = (single.shard_samples - 1) / 2

# %% right: counted by hand
tar = one_packs[1]
before = tar.reads
tar.read(single.want, index=False)
through = (tar.reads - before).bytes
shard, record = tar.place(single.want)
direct = tar.shards[shard].entries[record].length
again = tar.place(single.restart)[1]
on_average = sum(range(single.shard_samples)) / single.shard_samples

# %% wrong: the two exchanged -> card: did the two change places
costs = packing.access_costs(one_packs, single.want, single.restart)["bytes for one"]
through, direct = int(costs[1]), int(costs[2])
again, on_average = single.restart % single.shard_samples, (single.shard_samples - 1) / 2

# %% wrong: from the start of the pack -> card: the shards before aren't opened
costs = packing.access_costs(one_packs, single.want, single.restart)["bytes for one"]
through, direct = int(costs[2]), int(costs[1])
again, on_average = single.restart, (single.shard_samples - 1) / 2

# %% wrong: half a shard -> card: half a shard, as if
costs = packing.access_costs(one_packs, single.want, single.restart)["bytes for one"]
through, direct = int(costs[2]), int(costs[1])
again, on_average = single.restart % single.shard_samples, single.shard_samples / 2

# %% wrong: the content alone -> card: a tar member has a header
costs = packing.access_costs(one_packs, single.want, single.restart)["bytes for one"]
through, direct = int(costs[2]), single.record_bytes
again, on_average = single.restart % single.shard_samples, (single.shard_samples - 1) / 2

# %% wrong: what is left of the shard -> card: not what was already used
costs = packing.access_costs(one_packs, single.want, single.restart)["bytes for one"]
through, direct = int(costs[2]), int(costs[1])
again = single.shard_samples - single.restart % single.shard_samples
on_average = (single.shard_samples - 1) / 2

# %% wrong: through without headers and blocks -> card: without headers, filling and blocks
costs = packing.access_costs(one_packs, single.want, single.restart)["bytes for one"]
through, direct = (single.want % single.shard_samples + 1) * single.record_bytes, int(costs[1])
again, on_average = single.restart % single.shard_samples, (single.shard_samples - 1) / 2

# %% wrong: the records up to it, without blocks -> card: a reader asks for 65,536 bytes at a time
costs = packing.access_costs(one_packs, single.want, single.restart)["bytes for one"]
through, direct = (single.want % single.shard_samples + 1) * int(costs[1]), int(costs[1])
again, on_average = single.restart % single.shard_samples, (single.shard_samples - 1) / 2

# %% wrong: half a shard, said of the mean -> card: over all places (computed)
costs = packing.access_costs(one_packs, single.want, single.restart)["bytes for one"]
through, direct = int(costs[2]), int(costs[1])
again, on_average = single.restart % single.shard_samples, single.shard_samples / 2

# %% wrong: words -> card: a number
through, direct, again, on_average = "much", "little", 3, 4
