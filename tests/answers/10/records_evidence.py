"""records.evidence"""

# %% right: reference
class Keeper:
    def __init__(self, keep):
        self.keep, self.detector, self.held = keep, SpikeDetector(), []

    def step(self, step, loss, batch):
        spike = self.detector.add(loss)
        if spike is not None:
            self.held.append((spike.score, step, list(batch)))
            self.held = sorted(self.held, reverse=True)[: self.keep]

    def kept(self):
        return [(step, batch) for _, step, batch in self.held]

# %% right: a dict, and the smallest goes
class Keeper:
    def __init__(self, keep):
        self.keep, self.detector, self.scores, self.batches = keep, SpikeDetector(), {}, {}

    def step(self, step, loss, batch):
        if spike := self.detector.add(loss):
            self.scores[step], self.batches[step] = spike.score, batch[:]
            if len(self.scores) > self.keep:
                least = min(self.scores, key=self.scores.get)
                del self.scores[least], self.batches[least]

    def kept(self):
        return sorted(self.batches.items())

# %% wrong: a reference -> card: kept by reference
class Keeper:
    def __init__(self, keep):
        self.keep, self.detector, self.held = keep, SpikeDetector(), []

    def step(self, step, loss, batch):
        spike = self.detector.add(loss)
        if spike is not None:
            self.held = sorted([*self.held, (spike.score, step, batch)], key=lambda one: -one[0])[: self.keep]

    def kept(self):
        return [(step, batch) for _, step, batch in self.held]

# %% wrong: the first ones stay -> card: the largest ones should
class Keeper:
    def __init__(self, keep):
        self.keep, self.detector, self.held = keep, SpikeDetector(), []

    def step(self, step, loss, batch):
        if self.detector.add(loss) is not None and len(self.held) < self.keep:
            self.held.append((step, list(batch)))

    def kept(self):
        return self.held

# %% wrong: by value, not by score -> card: no comparison with it is ever true
class Keeper:
    def __init__(self, keep):
        self.keep, self.held = keep, []

    def step(self, step, loss, batch):
        if loss > 4:
            self.held = sorted([*self.held, (loss, step, list(batch))], reverse=True)[: self.keep]

    def kept(self):
        return [(step, batch) for _, step, batch in self.held]

# %% wrong: every batch -> card: memory doesn't grow
class Keeper:
    def __init__(self, keep):
        self.keep, self.detector, self.held, self.all = keep, SpikeDetector(), [], []

    def step(self, step, loss, batch):
        self.all.append(list(batch))
        spike = self.detector.add(loss)
        if spike is not None:
            self.held = sorted([*self.held, (spike.score, step)], reverse=True)[: self.keep]

    def kept(self):
        return [(step, self.all[step - 1]) for _, step in self.held]

# %% wrong: all spikes -> card: batches kept
class Keeper:
    def __init__(self, keep):
        self.detector, self.held = SpikeDetector(), []

    def step(self, step, loss, batch):
        if self.detector.add(loss) is not None:
            self.held.append((step, list(batch)))

    def kept(self):
        return self.held

# %% wrong: the batch before -> card: another step's batch
class Keeper:
    def __init__(self, keep):
        self.keep, self.detector, self.held, self.last = keep, SpikeDetector(), [], []

    def step(self, step, loss, batch):
        spike = self.detector.add(loss)
        if spike is not None:
            self.held = sorted([*self.held, (spike.score, step, self.last)], reverse=True)[: self.keep]
        self.last = list(batch)

    def kept(self):
        return [(step, batch) for _, step, batch in self.held]

# %% wrong: the last steps, whatever they were -> card: no loss is out of line
class Keeper:
    def __init__(self, keep):
        self.keep, self.held = keep, []

    def step(self, step, loss, batch):
        self.held = [*self.held, (step, list(batch))][-self.keep :]

    def kept(self):
        return self.held
