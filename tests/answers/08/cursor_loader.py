"""cursor.loader"""

# %% right: reference
class MyLoader:
    def __init__(self, data, batch_size, seed, workers):
        self.data, self.batch_size, self.seed, self.workers = data, batch_size, seed, workers
        self.epoch = self.cursor = self.handed = 0

    def order(self):
        return epoch_batches(len(self.data), self.batch_size, self.seed, self.epoch)

    def __iter__(self):
        if self.cursor == len(self.order()):
            self.epoch, self.cursor = self.epoch + 1, 0
        self.handed = self.cursor
        for batch in DataLoader(self.data, batch_sampler=self.order()[self.cursor :], num_workers=self.workers):
            self.handed += 1
            yield batch

    def commit(self):
        self.cursor = self.handed

    def state_dict(self):
        return {"epoch": self.epoch, "cursor": self.cursor}

    def load_state_dict(self, state):
        self.epoch, self.cursor = state["epoch"], state["cursor"]

# %% right: one count of batches, read without workers
class MyLoader:
    def __init__(self, data, batch_size, seed, workers):
        self.data, self.size, self.seed = data, batch_size, seed
        self.per_epoch = -(-len(data) // batch_size)
        self.committed = self.handed = 0

    def __iter__(self):
        self.handed = self.committed
        epoch, first = divmod(self.handed, self.per_epoch)
        for ids in epoch_batches(len(self.data), self.size, self.seed, epoch)[first:]:
            self.handed += 1
            yield [self.data[i] for i in ids]

    def commit(self):
        self.committed = self.handed

    def state_dict(self):
        return {"committed": self.committed}

    def load_state_dict(self, state):
        self.committed = state["committed"]

# %% wrong: what was handed out -> card: it goes on after what was handed out
class MyLoader:
    def __init__(self, data, batch_size, seed, workers):
        self.data, self.batch_size, self.seed, self.workers = data, batch_size, seed, workers
        self.epoch = self.cursor = self.handed = 0

    def order(self):
        return epoch_batches(len(self.data), self.batch_size, self.seed, self.epoch)

    def __iter__(self):
        if self.cursor == len(self.order()):
            self.epoch, self.cursor = self.epoch + 1, 0
        self.handed = self.cursor
        for batch in DataLoader(self.data, batch_sampler=self.order()[self.cursor :], num_workers=self.workers):
            self.handed += 1
            yield batch

    def commit(self):
        self.cursor = self.handed

    def state_dict(self):
        return {"epoch": self.epoch, "cursor": self.handed}

    def load_state_dict(self, state):
        self.epoch, self.cursor = state["epoch"], state["cursor"]

# %% wrong: nothing comes back -> card: it begins again from the start
class MyLoader:
    def __init__(self, data, batch_size, seed, workers):
        self.data, self.batch_size, self.seed, self.workers = data, batch_size, seed, workers
        self.epoch = self.cursor = self.handed = 0

    def order(self):
        return epoch_batches(len(self.data), self.batch_size, self.seed, self.epoch)

    def __iter__(self):
        if self.cursor == len(self.order()):
            self.epoch, self.cursor = self.epoch + 1, 0
        self.handed = self.cursor
        for batch in DataLoader(self.data, batch_sampler=self.order()[self.cursor :], num_workers=self.workers):
            self.handed += 1
            yield batch

    def commit(self):
        self.cursor = self.handed

    def state_dict(self):
        return {"epoch": self.epoch, "cursor": self.cursor}

    def load_state_dict(self, state):
        pass

# %% wrong: the epoch ends after the last yield -> card: the nothing that is left
class MyLoader:
    def __init__(self, data, batch_size, seed, workers):
        self.data, self.batch_size, self.seed, self.workers = data, batch_size, seed, workers
        self.epoch = self.cursor = self.handed = 0

    def order(self):
        return epoch_batches(len(self.data), self.batch_size, self.seed, self.epoch)

    def __iter__(self):
        self.handed = self.cursor
        for batch in DataLoader(self.data, batch_sampler=self.order()[self.cursor :], num_workers=self.workers):
            self.handed += 1
            yield batch
        self.epoch, self.cursor, self.handed = self.epoch + 1, 0, 0

    def commit(self):
        self.cursor = self.handed

    def state_dict(self):
        return {"epoch": self.epoch, "cursor": self.cursor}

    def load_state_dict(self, state):
        self.epoch, self.cursor = state["epoch"], state["cursor"]

# %% wrong: skips by reading -> card: read and thrown away
class MyLoader:
    def __init__(self, data, batch_size, seed, workers):
        self.data, self.batch_size, self.seed, self.workers = data, batch_size, seed, workers
        self.epoch = self.cursor = self.handed = 0

    def order(self):
        return epoch_batches(len(self.data), self.batch_size, self.seed, self.epoch)

    def __iter__(self):
        if self.cursor == len(self.order()):
            self.epoch, self.cursor = self.epoch + 1, 0
        start = self.handed = self.cursor
        for number, batch in enumerate(DataLoader(self.data, batch_sampler=self.order(), num_workers=self.workers)):
            if number >= start:
                self.handed += 1
                yield batch

    def commit(self):
        self.cursor = self.handed

    def state_dict(self):
        return {"epoch": self.epoch, "cursor": self.cursor}

    def load_state_dict(self, state):
        self.epoch, self.cursor = state["epoch"], state["cursor"]

# %% wrong: one order for all epochs -> card: epoch 1 has the order of epoch 0
class MyLoader:
    def __init__(self, data, batch_size, seed, workers):
        self.data, self.batch_size, self.seed, self.workers = data, batch_size, seed, workers
        self.epoch = self.cursor = self.handed = 0

    def order(self):
        return epoch_batches(len(self.data), self.batch_size, self.seed, 0)

    def __iter__(self):
        if self.cursor == len(self.order()):
            self.epoch, self.cursor = self.epoch + 1, 0
        self.handed = self.cursor
        for batch in DataLoader(self.data, batch_sampler=self.order()[self.cursor :], num_workers=self.workers):
            self.handed += 1
            yield batch

    def commit(self):
        self.cursor = self.handed

    def state_dict(self):
        return {"epoch": self.epoch, "cursor": self.cursor}

    def load_state_dict(self, state):
        self.epoch, self.cursor = state["epoch"], state["cursor"]

# %% wrong: the epoch isn't saved -> card: the epoch didn't come back
class MyLoader:
    def __init__(self, data, batch_size, seed, workers):
        self.data, self.batch_size, self.seed, self.workers = data, batch_size, seed, workers
        self.epoch = self.cursor = self.handed = 0

    def order(self):
        return epoch_batches(len(self.data), self.batch_size, self.seed, self.epoch)

    def __iter__(self):
        if self.cursor == len(self.order()):
            self.epoch, self.cursor = self.epoch + 1, 0
        self.handed = self.cursor
        for batch in DataLoader(self.data, batch_sampler=self.order()[self.cursor :], num_workers=self.workers):
            self.handed += 1
            yield batch

    def commit(self):
        self.cursor = self.handed

    def state_dict(self):
        return {"cursor": self.cursor}

    def load_state_dict(self, state):
        self.cursor = state["cursor"]

# %% wrong: one epoch only -> card: each of the 12 samples once an epoch
class MyLoader:
    def __init__(self, data, batch_size, seed, workers):
        self.data, self.batch_size, self.seed, self.workers = data, batch_size, seed, workers
        self.epoch = self.cursor = self.handed = 0

    def order(self):
        return epoch_batches(len(self.data), self.batch_size, self.seed, self.epoch)

    def __iter__(self):
        if self.cursor == len(self.order()):
            return
        self.handed = self.cursor
        for batch in DataLoader(self.data, batch_sampler=self.order()[self.cursor :], num_workers=self.workers):
            self.handed += 1
            yield batch

    def commit(self):
        self.cursor = self.handed

    def state_dict(self):
        return {"epoch": self.epoch, "cursor": self.cursor}

    def load_state_dict(self, state):
        self.epoch, self.cursor = state["epoch"], state["cursor"]
