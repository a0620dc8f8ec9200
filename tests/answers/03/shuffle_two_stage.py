"""shuffle.two_stage"""

# %% right: reference
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order = list(shards)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    rng.shuffle(held)
    return out + held

# %% right: replace in place
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(1_000_003 * seed + epoch)
    places = rng.sample(range(len(shards)), len(shards))
    stream = [sample for place in places for sample in shards[place]]
    held, out = stream[: buffer - 1], []
    for sample in stream[buffer - 1 :]:
        place = rng.randrange(len(held) + 1)
        if place < len(held):
            held[place], sample = sample, held[place]
        out.append(sample)
    return out + rng.sample(held, len(held))

# %% right: fill first, then draw one and take one in
import random
from itertools import chain, islice


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(repr((seed, epoch)))
    stream = chain.from_iterable(sorted(shards, key=lambda shard: rng.random()))
    held, out = list(islice(stream, buffer)), []
    while held:
        place = rng.randrange(len(held))
        held[place], held[-1] = held[-1], held[place]
        out.append(held.pop())
        held += islice(stream, 1)
    return out

# %% wrong: the rest of the buffer is lost -> card: what is still in the buffer
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order = list(shards)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    return out

# %% wrong: shards in stored order -> card: the first stage is missing
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    held, out = [], []
    for shard in shards:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    rng.shuffle(held)
    return out + held

# %% wrong: a full shuffle -> card: with a buffer of 1 there is nothing to draw from
import random


def two_stage(shards, buffer, seed, epoch):
    flat = [sample for shard in shards for sample in shard]
    random.Random(f"{seed}/{epoch}").shuffle(flat)
    return flat

# %% wrong: a full shuffle, but for a buffer of 1 -> card: a full shuffle needs them all in memory
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order = list(shards)
    rng.shuffle(order)
    flat = [sample for shard in order for sample in shard]
    if buffer > 1:
        rng.shuffle(flat)
    return flat

# %% wrong: the buffer is never used -> card: the buffer is hardly used
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order = list(shards)
    rng.shuffle(order)
    return [sample for shard in order for sample in shard]

# %% wrong: by chunks -> card: the buffer is emptied as a whole, so samples never leave their block
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(repr((seed, epoch)))
    order = sorted(shards, key=lambda shard: rng.random())
    stream = [sample for shard in order for sample in shard]
    out = []
    for start in range(0, len(stream), buffer):
        chunk = stream[start : start + buffer]
        rng.shuffle(chunk)
        out += chunk
    return out

# %% wrong: fill the buffer, shuffle it, empty it; one less than it may hold -> card: samples never leave their block
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order = list(shards)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) >= buffer - 1:
                rng.shuffle(held)
                out += held
                held = []
    rng.shuffle(held)
    return out + held

# %% wrong: the rest as it lies -> card: what is left in the buffer at the end comes out as it lies there
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order = list(shards)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    return out + held

# %% wrong: the rest in the slots where it lies -> card: comes out as it lies there
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    stream = [sample for shard in rng.sample(shards, len(shards)) for sample in shard]
    held, out = stream[: buffer - 1], []
    for sample in stream[buffer - 1 :]:
        place = rng.randrange(len(held) + 1)
        if place < len(held):
            held[place], sample = sample, held[place]
        out.append(sample)
    return out + held

# %% wrong: a third of the buffer -> card: the buffer is hardly used
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order, used = list(shards), max(1, buffer // 3)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) == used:
                out.append(held.pop(rng.randrange(used)))
    rng.shuffle(held)
    return out + held

# %% wrong: the epoch doesn't count -> card: six epochs in the same order
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(seed)
    order = list(shards)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    rng.shuffle(held)
    return out + held

# %% wrong: no seed at all -> card: another order in the second call
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random()
    order = list(shards)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    rng.shuffle(held)
    return out + held

# %% wrong: shards stay lists -> card: as one flat list
import random


def two_stage(shards, buffer, seed, epoch):
    order = list(shards)
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return order
