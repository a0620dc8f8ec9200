"""sharding.hang"""

# %% right: reference
from torch.distributed.algorithms.join import Join


def joined(rank, steps):
    layer = torch.nn.Linear(1, 1, bias=False)
    model = torch.nn.parallel.DistributedDataParallel(layer)
    gradients = []
    with Join([model], divide_by_initial_world_size=False):
        for step in range(1, steps[rank] + 1):
            model.zero_grad()
            model(torch.tensor([[float(step)]])).sum().backward()
            gradients.append(layer.weight.grad.item())
    return gradients


def gradients_of(steps):
    return ranks.run(joined, steps, ranks=len(steps))

# %% right: sums and counts by hand, without DistributedDataParallel
def by_hand(rank, steps):
    weight = torch.zeros(1, requires_grad=True)
    gradients = []
    for step in range(1, max(steps) + 1):
        both = torch.zeros(2)
        if step <= steps[rank]:
            (own,) = torch.autograd.grad((weight * step).sum(), weight)
            both = torch.tensor([own.item(), 1.0])
        torch.distributed.all_reduce(both)
        if step <= steps[rank]:
            gradients.append((both[0] / both[1]).item())
    return gradients


def gradients_of(steps):
    return ranks.run(by_hand, steps, ranks=len(steps))

# %% wrong: as it stands -> card: RankError
def gradients_of(steps):
    return ranks.run(job, steps, ranks=len(steps))

# %% wrong: Join as it comes -> card: count as zeros in the mean
from torch.distributed.algorithms.join import Join


def joined(rank, steps):
    layer = torch.nn.Linear(1, 1, bias=False)
    model = torch.nn.parallel.DistributedDataParallel(layer)
    gradients = []
    with Join([model]):
        for step in range(1, steps[rank] + 1):
            model.zero_grad()
            model(torch.tensor([[float(step)]])).sum().backward()
            gradients.append(layer.weight.grad.item())
    return gradients


def gradients_of(steps):
    return ranks.run(joined, steps, ranks=len(steps))

# %% wrong: stops at the shortest -> card: stopping early loses samples
def gradients_of(steps):
    return ranks.run(job, [min(steps)] * len(steps), ranks=len(steps))

# %% wrong: goes on to the longest -> card: repeat some
def gradients_of(steps):
    return ranks.run(job, [max(steps)] * len(steps), ranks=len(steps))

# %% wrong: the sum of the gradients -> card: not their mean
def summed(rank, steps):
    gradients = []
    for step in range(1, max(steps) + 1):
        own = torch.tensor(float(step if step <= steps[rank] else 0))
        torch.distributed.all_reduce(own)
        if step <= steps[rank]:
            gradients.append(own.item())
    return gradients


def gradients_of(steps):
    return ranks.run(summed, steps, ranks=len(steps))

# %% wrong: one list for all ranks -> card: a list of gradients for each rank
def gradients_of(steps):
    return ranks.run(job, [min(steps)] * len(steps), ranks=len(steps))[0]
