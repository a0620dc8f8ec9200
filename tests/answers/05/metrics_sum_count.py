"""metrics.sum_count"""

# %% right: reference
def mean_over_ranks(values):
    both = torch.tensor([sum(values), len(values)], dtype=torch.float64)
    if dist.is_initialized():
        dist.all_reduce(both)
    return (both[0] / both[1]).item()

# %% right: with SumCount
def mean_over_ranks(values):
    mean = SumCount()
    mean.update(values)
    return mean.all_reduce().compute()

# %% right: gathers everything
def mean_over_ranks(values):
    if not dist.is_initialized():
        return float(np.mean(values))
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, values)
    return float(np.mean([value for one in everyone for value in one]))

# %% wrong: mean of means -> card: that is the mean of the ranks' means
def mean_over_ranks(values):
    own = torch.tensor(sum(values) / len(values) if values else 0.0, dtype=torch.float64)
    if not dist.is_initialized():
        return own.item()
    dist.all_reduce(own)
    return own.item() / dist.get_world_size()

# %% wrong: each rank its own -> card: nothing was added up over the ranks
def mean_over_ranks(values):
    return sum(values) / max(len(values), 1)

# %% wrong: only rank 0 has it -> card: every rank comes to the same
def mean_over_ranks(values):
    both = torch.tensor([sum(values), len(values)], dtype=torch.float64)
    if dist.is_initialized():
        dist.reduce(both, dst=0)
        if dist.get_rank():
            return 0.0
    return (both[0] / both[1]).item()

# %% wrong: in float32 -> card: float32, which can't hold
def mean_over_ranks(values):
    both = torch.tensor([sum(values), len(values)], dtype=torch.float32)
    if dist.is_initialized():
        dist.all_reduce(both)
    return both[0].item() / both[1].item()

# %% wrong: the total over the ranks -> card: over the number of ranks
def mean_over_ranks(values):
    if not dist.is_initialized():
        return sum(values) / len(values)
    total = torch.tensor(float(sum(values)), dtype=torch.float64)
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()

# %% wrong: needs a group -> card: default process group
def mean_over_ranks(values):
    both = torch.tensor([sum(values), len(values)], dtype=torch.float64)
    dist.all_reduce(both)
    return (both[0] / both[1]).item()

# %% wrong: an idle rank stays away -> card: the function gives an answer
def mean_over_ranks(values):
    if not values:
        return 0.0
    both = torch.tensor([sum(values), len(values)], dtype=torch.float64)
    if dist.is_initialized():
        dist.all_reduce(both)
    return (both[0] / both[1]).item()

# %% wrong: divides before it knows -> card: ZeroDivisionError
def mean_over_ranks(values):
    own = sum(values) / len(values)
    both = torch.tensor([own * len(values), len(values)], dtype=torch.float64)
    if dist.is_initialized():
        dist.all_reduce(both)
    return (both[0] / both[1]).item()

# %% wrong: a pair -> card: one number on every rank
def mean_over_ranks(values):
    both = torch.tensor([sum(values), len(values)], dtype=torch.float64)
    if dist.is_initialized():
        dist.all_reduce(both)
    return both.tolist()
