"""measure.fetch_wait"""

# %% right: reference
def measure(loader, step, synchronise, clock):
    pairs, asked = [], clock()
    for batch in loader:
        got = clock()
        step(batch)
        synchronise()
        done = clock()
        pairs.append((1000 * (got - asked), 1000 * (done - got)))
        asked = done
    return pairs

# %% right: by hand, with next
def measure(loader, step, synchronise, clock):
    moments = [clock()]
    batches = iter(loader)
    while True:
        batch = next(batches, None)
        if batch is None:
            break
        moments.append(clock())
        step(batch)
        synchronise()
        moments.append(clock())
    times = [(b - a) * 1000 for a, b in zip(moments, moments[1:])]
    return list(zip(times[0::2], times[1::2]))

# %% wrong: the device isn't waited for -> card: synchronise was called 0 times
def measure(loader, step, synchronise, clock):
    pairs, asked = [], clock()
    for batch in loader:
        got = clock()
        step(batch)
        done = clock()
        pairs.append((1000 * (got - asked), 1000 * (done - got)))
        asked = done
    return pairs

# %% wrong: the device is waited for after the clock was read -> card: counted as waiting for the next batch
def measure(loader, step, synchronise, clock):
    pairs, asked = [], clock()
    for batch in loader:
        got = clock()
        step(batch)
        done = clock()
        synchronise()
        pairs.append((1000 * (got - asked), 1000 * (done - got)))
        asked = done
    return pairs

# %% wrong: seconds -> card: these are seconds
def measure(loader, step, synchronise, clock):
    pairs, asked = [], clock()
    for batch in loader:
        got = clock()
        step(batch)
        synchronise()
        done = clock()
        pairs.append((got - asked, done - got))
        asked = done
    return pairs

# %% wrong: the iterator is made before the clock starts -> card: lacks the start of the workers
def measure(loader, step, synchronise, clock):
    batches = iter(loader)
    pairs, asked = [], clock()
    for batch in batches:
        got = clock()
        step(batch)
        synchronise()
        done = clock()
        pairs.append((1000 * (got - asked), 1000 * (done - got)))
        asked = done
    return pairs

# %% wrong: train first -> card: wait comes first
def measure(loader, step, synchronise, clock):
    pairs, asked = [], clock()
    for batch in loader:
        got = clock()
        step(batch)
        synchronise()
        done = clock()
        pairs.append((1000 * (done - got), 1000 * (got - asked)))
        asked = done
    return pairs

# %% wrong: only the trains -> card: a pair of two numbers
def measure(loader, step, synchronise, clock):
    trains = []
    for batch in loader:
        got = clock()
        step(batch)
        synchronise()
        trains.append(1000 * (clock() - got))
    return trains

# %% wrong: no return -> card: is `return` missing
def measure(loader, step, synchronise, clock):
    for batch in loader:
        step(batch)
        synchronise()

# %% wrong: a wait is counted twice -> card: add up to
def measure(loader, step, synchronise, clock):
    pairs, asked = [], clock()
    for batch in loader:
        got = clock()
        step(batch)
        synchronise()
        done = clock()
        pairs.append((1000 * (got - asked), 1000 * (done - asked)))
        asked = done
    return pairs
