"""What lab 03 asks to be written about order: a two-stage shuffle, and its quality."""

from __future__ import annotations

import functools
import itertools
import random
import statistics
from collections.abc import Iterator
from typing import Any

from labkit.checks.answer import Answer, call_text
from labkit.checks.evidence import Fault, Rule, judged, number, over_inputs, same
from labkit.checks.result import Evidence
from labkit.pipeline.shuffling import full_mixing, mixing, shuffle_quality, two_stage

# shuffle.two_stage -------------------------------------------------------------------------------------------------

SEEDS, BAR = 40, 0.8
"""Runs of an answer whose mean quality is judged, and the share of a right answer's mean that they must reach.

A right answer's mean over 40 seeds is 0.886 with a standard deviation of 0.013, so the bar at 0.71 is 14 of them away.
"""


def _shards(count: int, size: int) -> list[list[int]]:
    return [list(range(i * size, (i + 1) * size)) for i in range(count)]


def two_stage_evidence(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """Every sample once; shards in an order of the epoch; nothing comes out before it can have been read; mixed."""
    cases = [
        (_shards(2, 3), 1),
        (_shards(3, 4), 3),
        (_shards(4, 5), 8),
        (_shards(5, 3), 40),
        ([[7], [3, 1], [2, 9, 4]], 2),
    ]
    seed = rng.randint(0, 10_000)
    out = [(shards, buffer, answer.call(shards, buffer, seed, 0)) for shards, buffer in cases]
    yield _each_once(out, seed)

    again = [answer.call(shards, buffer, seed, 0) for shards, buffer, _ in out]
    fault = None
    if again != [order for *_, order in out]:
        fault = Fault("another order in the second call", "the same order for the same seed and epoch",
                      "a run could not be resumed, and readers would disagree about the shards.",
                      "make a generator from seed and epoch: random.Random(f'{seed}/{epoch}').")  # fmt: skip
    yield judged("the same seed and epoch give the same order", fault)
    many = _shards(6, 4)
    orders = [tuple(answer.call(many, 3, seed, epoch)) for epoch in range(6)]
    fault = None
    if len(set(orders)) == 1:
        fault = Fault("six epochs in the same order", "another order in every epoch",
                      next_step="let the epoch go into what seeds the generator.")  # fmt: skip
    yield judged("another epoch gives another order", fault)

    yield _shards_stay(answer, seed)
    yield _bounded(answer, seed)
    streams = [list(answer.call([list(range(40))], 8, seed + i, 0)) for i in range(SEEDS)]
    yield _streams(streams, seed)
    mine = [shuffle_quality(answer.call(_shards(20, 16), 48, seed + i, 0), 8) for i in range(SEEDS)]
    mean, usual = statistics.mean(mine), _usual_quality()
    fault = None
    if mean < BAR * usual:
        fault = Fault(
            f"quality {mean:.2f} with a buffer of three shards",
            f"about {usual:.2f}, as a full buffer gives",
            "the buffer is hardly used: samples come out nearly as they are read.",
            "fill the buffer first; then draw one of all that it holds, for every sample that comes in.",
        )
    yield judged("the buffer mixes the shards in it", fault, f"20 shards of 16, buffer 48, {SEEDS} seeds",
                 f"quality {mean:.2f}; a full shuffle is 1")  # fmt: skip
    yield _rest_is_shuffled(answer, streams, seed)


@functools.cache
def _usual_quality() -> float:
    """The mean quality that a right answer has on 20 shards of 16 with a buffer of 48, in batches of 8."""
    orders = (list(two_stage(20, _shards(20, 16).__getitem__, buffer=48, seed=i, epoch=0)) for i in range(SEEDS))
    return statistics.mean(shuffle_quality(order, 8) for order in orders)


def _streams(orders: list[list[int]], seed: int) -> Evidence:
    """With one shard, what came in first is known: is there a place that no sample ever passes, in no seed?"""
    claim = "samples come in one by one while others wait"
    count = len(orders[0])
    ends = [c for c in range(1, count) if all(max(order[:c]) < c for order in orders)]
    fault, given = None, ""
    if ends and len(ends) < count - 1:  # at every place: nothing moves at all, which the quality says
        first = next((c for c in ends if c > 1), ends[0])
        given = f"two_stage([list(range({count}))], 8, {seed}, 0)"
        fault = Fault(
            f"the first {first} samples out are the first {first} in, for all of {len(orders)} seeds",
            "for some seed one of those that came later is among them",
            "the buffer is emptied as a whole, so samples never leave their block.",
            "let one sample out for each that comes in; the others stay in the buffer.",
        )
    return judged(claim, fault, given, f"one shard of {count}, buffer 8, {len(orders)} seeds")


def _rest_is_shuffled(answer: Answer, streams: list[list[int]], seed: int) -> Evidence:
    """What the buffer holds when the last sample is in: of a longer epoch its last six, and an epoch that fits."""
    claim = "the rest of the buffer comes out in random order"
    tails = [order[-6:] for order in streams]
    sorted_all = any(all(t == sorted(t, reverse=down) for t in tails) for down in (False, True))
    small = [list(answer.call([list(range(12))], 20, seed + i, 0)) for i in range(SEEDS)]
    one_way = all(order == small[0] for order in small)
    fault, given = None, ""
    if sorted_all or one_way:
        given = f"two_stage([list(range({'12))], 20' if one_way else '40))], 8'}, {seed}, 0)"
        seen = f"{small[0]}"[:80] if one_way else f"..., {str(tails[0])[1:-1]}"
        fault = Fault(
            f"{seen}: {'the same' if one_way else 'sorted'} for all of {SEEDS} seeds",
            "another order of the last samples for another seed",
            "what is left in the buffer at the end comes out as it lies there.",
            "shuffle the rest before you let it out.",
        )
    return judged(claim, fault, given, f"{SEEDS} seeds; a buffer of 8, and one that holds the whole epoch")


def _each_once(out: list[tuple[Any, int, Any]], seed: int) -> Evidence:
    claim = "every sample comes out once"
    for shards, buffer, order in out:
        given = call_text("two_stage", (shards, buffer, seed, 0))
        flat = sorted(itertools.chain(*shards))
        if type(order) is not list and type(order) is not tuple:
            why = "the function gave None: is `return` missing at its end?" if order is None else ""
            return judged(claim, Fault(repr(order)[:80], "a list of samples", why, "return list(...)."), given)
        if any(type(one) is not int for one in order):
            return judged(claim, Fault(repr(order)[:80], "the samples, one by one, as one flat list",
                                       next_step="join the shards before you return them."), given)  # fmt: skip
        if sorted(order) != flat:
            lost = [one for one in flat if one not in order]
            seen = f"{len(lost)} of {len(flat)} samples are missing" if lost else "some samples come twice"
            why = "what is still in the buffer when the last shard ends belongs to the epoch." if lost else ""
            next_step = "empty the buffer after the loop." if lost else "a sample that comes out must leave the buffer."
            return judged(claim, Fault(seen, "each sample once", why, next_step), given)
    return judged(claim, None, f"{len(out)} input{'s' * (len(out) != 1)}", "held on each")


def _shards_stay(answer: Answer, seed: int) -> Evidence:
    """With a buffer of 1: whole shards, in their own order, and any shard may come first."""
    claim = "a buffer of 1 leaves shards whole, and shuffles them"
    shards = _shards(5, 4)
    given = call_text("two_stage", (shards, 1, seed, 0))
    firsts = set()
    for i in range(40):
        order = list(answer.call(shards, 1, seed + i, 0))
        pieces = [order[k : k + 4] for k in range(0, 20, 4)]
        if sorted(pieces) != shards:
            return judged(claim, Fault(f"{order}"[:90], "whole shards, one after the other, each in its own order",
                          "with a buffer of 1 there is nothing to draw from: the sample that comes in goes out.",
                          "how many samples does your buffer hold before the first one leaves?"), given)  # fmt: skip
        firsts.add(pieces[0][0] // 4)
    if len(firsts) < 5:
        stays = len(firsts) == 1
        return judged(claim, Fault(f"shard {min(firsts)} comes first in all of 40 seeds" if stays
                      else f"only {len(firsts)} of 5 shards ever come first in 40 seeds",
                      "each shard comes first for some seed",
                      "the first stage is missing: a buffer can't bring the end of the data to its beginning."
                      if stays else "", "shuffle the list of shards before you read them."), given)  # fmt: skip
    return judged(claim, None, "40 seeds", "every shard came first for some seed")


def _bounded(answer: Answer, seed: int) -> Evidence:
    """Some order of the shards explains what came out: the k-th sample was read by then."""
    claim = "no sample comes out before it can have been read"
    for buffer, i in itertools.product((2, 3, 5), range(3)):
        shards = _shards(4, 6)
        order = list(answer.call(shards, buffer, seed + i, 0))
        if any(_explains(way, order, buffer, 6) for way in itertools.permutations(range(4))):
            continue
        given = call_text("two_stage", (shards, buffer, seed + i, 0))
        return judged(claim, Fault(f"{order}"[:90], f"the k-th sample out is among the first k + {buffer - 1} read",
                      f"whatever the order of the shards, your reader holds more than {buffer} samples. "
                      "A full shuffle needs them all in memory.",
                      "let a sample out as soon as the buffer is full."), given)  # fmt: skip
    return judged(claim, None, "4 shards of 6, buffers of 2, 3 and 5", "held on each")


def _explains(way: tuple[int, ...], order: list[int], buffer: int, size: int) -> bool:
    read_at = {shard: place * size for place, shard in enumerate(way)}
    return all(read_at[one // size] + one % size <= k + buffer - 1 for k, one in enumerate(order))


# shuffle.quality ---------------------------------------------------------------------------------------------------


def quality_inputs(rng: random.Random) -> list[tuple[list[int], int]]:
    """Orders, the stored one first: backwards, shuffled, dealt out, in whole shards; some with a short last batch.

    A card prints lists of at most 8 numbers, and its Input must be complete: a person replays it.
    """
    inputs = [(list(range(8)), 2), (list(range(7, -1, -1)), 2), ([3, 0, 2, 1, 5, 4, 7, 6], 2)]
    for count, size in ((4, 2), (5, 2), (6, 2), (6, 3), (7, 2), (7, 3), (8, 2), (8, 3), (8, 4)):
        inputs.append((rng.sample(range(count), count), size))
    blocks = rng.sample(range(4), 4)
    inputs.append(([2 * block + i for block in blocks for i in range(2)], 2))
    inputs.append(([0, 7, 1, 6, 2, 5, 3, 4], 2))  # each batch has the middle as its mean: above 1
    return inputs


def _is_number(value: Any, order: list[int], size: int) -> Fault | None:
    return None if number(value) else Fault(repr(value)[:80], "one number", next_step="return a float.")


def _stored_is_nought(value: float, order: list[int], size: int) -> Fault | None:
    if order != sorted(order) or same(value, 0, 1e-6):
        return None
    return Fault(f"{value:.4g} for the stored order", "0", "",
                 "what does (none - mixing) give when the order is the stored one?")  # fmt: skip


def _quality_exact(value: float, order: list[int], size: int) -> Fault | None:
    truth = shuffle_quality(order, size)
    if same(value, truth, 1e-6):
        return None
    return Fault(f"{value:.4g}", "(none - mixing) / (none - full), by the formulas above", "",
                 "compute mixing, none and full of this order by hand, and compare each with your own.")  # fmt: skip


def _loose_mixing(order: list[int], size: int) -> float:
    """`mixing` with a last short batch counted like the others."""
    middle = (len(order) - 1) / 2
    parts = [order[i : i + size] for i in range(0, len(order), size)]
    return statistics.mean((statistics.mean(part) - middle) ** 2 for part in parts)


def _scaled(order: list[int], size: int, full: float) -> float:
    none = mixing(range(len(order)), size)
    return (none - mixing(order, size)) / (none - full)


QUALITY_MISTAKES = {
    "that is 1 - quality: your scale runs the other way round.": lambda order, size: 1 - shuffle_quality(order, size),
    "that is scaled to a `full` of 0, as if a random batch hit the middle exactly.": (
        lambda order, size: _scaled(order, size, 0.0)
    ),
    "your `full` lacks the factor for drawing without replacement: it is (n + 1)(n - b)/(12 b).": (
        lambda order, size: _scaled(order, size, (len(order) ** 2 - 1) / (12 * size))
    ),
    "your mixing counts a last batch that isn't full.": lambda order, size: (
        (_loose_mixing(list(range(len(order))), size) - _loose_mixing(order, size))
        / (_loose_mixing(list(range(len(order))), size) - full_mixing(len(order), size))
    ),
    "that is the quality cut off at 0 and 1; leave it as it is.": (
        lambda order, size: min(1.0, max(0.0, shuffle_quality(order, size)))
    ),
    "that is mixing itself, without a scale.": mixing,
}  # fmt: skip


def quality_evidence(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """The calibrated scale, on orders with known quality."""
    rules = [
        Rule("the answer is one number", _is_number),
        Rule("the stored order has quality 0", _stored_is_nought, QUALITY_MISTAKES),
        Rule("every other order has its place on the scale", _quality_exact, QUALITY_MISTAKES),
    ]
    yield from over_inputs(answer, "quality", quality_inputs(rng), rules)
