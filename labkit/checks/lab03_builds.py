"""What lab 03 asks to be written: a hash of samples, a two-stage shuffle, its quality, length buckets."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Iterator
from typing import Any

from labkit.checks.answer import Answer, call_text
from labkit.checks.evidence import Fault, Rule, judged, number, over_inputs, same
from labkit.checks.result import Evidence
from labkit.pipeline.shuffling import full_mixing, mixing, shuffle_quality, two_stage

Named = list[Any]  # [key, {field: text}]


# packing.same_samples ----------------------------------------------------------------------------------------------


def _words(rng: random.Random, count: int) -> list[Named]:
    text = "abcdefgh"
    return [
        [f"s{i}", {"txt": "".join(rng.choices(text, k=rng.randint(2, 6))), "cls": rng.choice("0123")}]
        for i in range(count)
    ]


def hash_evidence(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """A text that is equal exactly where samples and order are."""
    base = [["a", {"txt": "xy", "cls": "1"}], ["b", {"txt": "z", "cls": "0"}]]
    given = call_text("content_hash", (base,))
    first = answer.call(base)
    fault = None
    if type(first) is not str or not first:
        why = "the function gave None: is `return` missing at its end?" if first is None else ""
        fault = Fault(repr(first)[:100], "a text that isn't empty", why, "hashlib.sha256(...).hexdigest() is one.")
    yield judged("the hash is a text", fault, given)
    longer = len(answer.call(_words(rng, 60)))
    fault = None
    if longer > 200:
        fault = Fault(
            f"{longer} characters for 60 samples", "about as long as before, however many samples there are",
            "that is the samples written out.", "give hashlib's hexdigest of them.",
        )  # fmt: skip
    yield judged("its length doesn't grow with the samples", fault)

    drawn = _words(rng, 5)
    reordered = [["a", {"cls": "1", "txt": "xy"}], base[1]]
    turned = [[key, dict(reversed(fields.items()))] for key, fields in drawn]
    pairs = [
        (base, [list(one) for one in base], "nothing is changed"),
        (base, reordered, "the fields of sample a come in another order"),
        (drawn, turned, "the fields come in another order"),
    ]
    yield _pairs(
        answer, "equal samples in equal order give equal hashes", pairs, equal=True,
        why="one sample has no first field: each format gives them back in an order of its own.",
        next_step="sort the names of the fields.",
    )  # fmt: skip
    changed = [["a", {"txt": "xy", "cls": "2"}], base[1]]
    yield _pairs(
        answer, "another content gives another hash", [(base, changed, "cls of a is 2"),
        (base, base[:1], "b is missing"), (base, [["c", base[0][1]], base[1]], "a is called c")],
        why="what the hash doesn't cover can change without being seen.", next_step="hash the key and every field.",
    )  # fmt: skip
    yield _pairs(
        answer, "another order gives another hash",
        [(base, base[::-1], "the two change places"), (drawn, drawn[::-1], "five samples backwards")],
        why="a sum, a set or a sort of the samples' hashes forgets their order.",
        next_step="feed the samples to one hash, one after the other.",
    )  # fmt: skip
    moved = [
        ([["a", {"t": "xy"}], ["b", {"t": "z"}]], [["a", {"t": "x"}], ["b", {"t": "yz"}]], "y moves to b"),
        ([["a", {"t": "bc"}]], [["ab", {"t": "c"}]], "b moves from the content to the key"),
        ([["a", {"t": "x", "u": "yz"}]], [["a", {"t": "xy", "u": "z"}]], "y moves to the field before"),
        ([["a", {"t": "x", "u": "y"}]], [["a", {"t": "y", "u": "x"}]], "the contents of two fields change places"),
        ([["a", {"t": "xuy"}]], [["a", {"t": "x", "u": "y"}]], "one field becomes two"),
        (
            [["a", {"b": "c"}], ["d", {"e": "f", "g": "h"}]],
            [["a", {"b": "c", "d": "e"}], ["f", {"g": "h"}]],
            "d and e become a field of the sample before",
        ),
        ([["a", {"t": "x,y"}]], [["a,x", {"t": "y"}]], "a comma stands in the content"),
        ([["a", {"t": "x\ny"}], ["b", {"t": ""}]], [["a", {"t": "x"}], ["y\nb", {"t": ""}]], "a line break moves"),
        ([["a", {"t": "x\0u\0y"}]], [["a", {"t": "x", "u": "y"}]], "a zero character stands in the content"),
    ]  # fmt: skip
    yield _pairs(
        answer, "nothing moves to a neighbour unseen", moved,
        why="the pieces are joined without a mark that says where each ends, or with one that content may hold.",
        next_step="put the length before every piece, and the number of fields before the fields.",
    )  # fmt: skip


def _pairs(
    answer: Answer, claim: str, pairs: list[tuple[Any, Any, str]], *, equal: bool = False, why: str, next_step: str
) -> Evidence:
    """One piece of evidence over pairs of collections: their hashes are equal, or differ."""
    for a, b, change in pairs:
        if (answer.call(a) == answer.call(b)) is not equal:
            seen = f"{'different hashes' if equal else 'the same hash'}: {change}"
            expected = "the same hash" if equal else "another hash"
            return judged(claim, Fault(seen, expected, why, next_step), f"{a!r} and {b!r}"[:200])
    return judged(claim, None, f"{len(pairs)} pairs", "held on each")


# shuffle.two_stage -------------------------------------------------------------------------------------------------


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
    mine = [shuffle_quality(answer.call(_shards(20, 16), 48, seed + i, 0), 8) for i in range(12)]
    model = [shuffle_quality(list(two_stage(20, _shards(20, 16).__getitem__, buffer=48, seed=i, epoch=0)), 8)
             for i in range(12)]  # fmt: skip
    mean, usual = statistics.mean(mine), statistics.mean(model)
    fault = None
    if mean < 0.6 * usual:
        fault = Fault(
            f"quality {mean:.2f} with a buffer of three shards",
            f"about {usual:.2f}, as a full buffer gives",
            "the buffer is hardly used: samples come out nearly as they are read.",
            "fill the buffer first; then draw one of all that it holds, for every sample that comes in.",
        )
    yield judged("the buffer mixes the shards in it", fault, "20 shards of 16, buffer 48",
                 f"quality {mean:.2f}; a full shuffle is 1")  # fmt: skip


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
    """Orders, shortest first: stored, backwards, shuffled, in whole shards; some with a short last batch."""
    inputs = [(list(range(8)), 2), (list(range(9, -1, -1)), 2), ([3, 0, 2, 1, 5, 4, 7, 6], 2)]
    for count, size in ((12, 3), (20, 4), (23, 4), (40, 5), (60, 7)):
        inputs.append((rng.sample(range(count), count), size))
    blocks = rng.sample(range(6), 6)
    inputs.append(([10 * block + i for block in blocks for i in range(10)], 5))
    return inputs


def _is_number(value: Any, order: list[int], size: int) -> Fault | None:
    return None if number(value) else Fault(repr(value)[:80], "one number", next_step="return a float.")


def _stored_is_nought(value: float, order: list[int], size: int) -> Fault | None:
    if order != sorted(order) or same(value, 0, 1e-6):
        return None
    return Fault(f"{value:.4g} for the stored order", "0", "",
                 "what does (none - mixing(order)) give when the order is the stored one?")  # fmt: skip


def _quality_exact(value: float, order: list[int], size: int) -> Fault | None:
    truth = shuffle_quality(order, size)
    if same(value, truth, 1e-6):
        return None
    return Fault(f"{value:.4g}", "(none - this) / (none - full), by the formulas above", "",
                 "compute mixing of this order, of range(n), and full by hand for the small example.")  # fmt: skip


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


# bucketing.batches -------------------------------------------------------------------------------------------------


def buckets_evidence(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """Random pools, sorted within, cut into batches."""
    seed = rng.randint(0, 10_000)
    inputs = [
        ([rng.randint(1, 50) for _ in range(count)], size, pool, seed)
        for count, size, pool in ((6, 2, 3), (12, 3, 2), (24, 4, 3), (25, 4, 3), (40, 5, 1), (60, 5, 4), (7, 3, 9))
    ]
    rules = [
        Rule("a list of batches, each a list of sample numbers", _is_batches),
        Rule("every sample is in one batch", _all_there),
        Rule("only the last batch may be short", _full_batches),
        Rule("within a pool, batches don't overlap in length", _apart),
    ]
    yield from over_inputs(answer, "buckets", inputs, rules)
    lengths = [rng.randint(1, 10_000) for _ in range(48)]
    first, again = (answer.call(lengths, 4, 3, seed) for _ in range(2))
    fault = None
    if first != again:
        fault = Fault("other batches in the second call", "the same batches for the same seed",
                      next_step="make a generator from the seed: random.Random(seed).")  # fmt: skip
    yield judged("the same seed gives the same batches", fault)
    pools = [frozenset(itertools.chain(*answer.call(lengths, 4, 3, seed + i)[:3])) for i in range(5)]
    shortest = frozenset(sorted(range(48), key=lengths.__getitem__)[:12])
    fault = None
    if len(set(pools)) == 1:
        mistake = (
            "everything is sorted, so the pools hold the same samples in every epoch." if pools[0] == shortest else ""
        )
        fault = Fault("the same samples in the first pool for five seeds", "a pool is drawn at random", mistake,
                      "shuffle the sample numbers first, then cut them into pools, then sort each pool.")  # fmt: skip
    yield judged("pools are drawn at random", fault, "48 samples, 5 seeds", "five different first pools")


def _is_batches(found: Any, lengths: list[int], size: int, pool: int, seed: int) -> Fault | None:
    good = type(found) in (list, tuple) and all(
        type(b) in (list, tuple) and b and all(type(one) is int for one in b) for b in found
    )
    return None if good else Fault(repr(found)[:100], "lists of whole numbers, none empty",
                                   next_step="return [[3, 0], [1, 2], ...]: numbers of samples.")  # fmt: skip


def _all_there(found: Any, lengths: list[int], size: int, pool: int, seed: int) -> Fault | None:
    flat = sorted(one for batch in found for one in batch)
    if flat == list(range(len(lengths))):
        return None
    lost = len(set(range(len(lengths))) - set(flat))
    if lost:
        looks = sorted(flat) == sorted(lengths)
        return Fault(f"{lost} of {len(lengths)} samples are in no batch", "each sample in one batch",
                     "these are lengths, not numbers of samples." if looks
                     else "are the last samples, too few for a batch, left out?",
                     "a batch holds numbers of samples, 0 to len(lengths) - 1." if looks
                     else "cut with range(0, len(part), batch_size): the last piece may be short.")  # fmt: skip
    return Fault("some samples are in two batches, or don't exist", "each sample in one batch",
                 next_step="count the samples of all batches.")  # fmt: skip


def _full_batches(found: Any, lengths: list[int], size: int, pool: int, seed: int) -> Fault | None:
    sizes = [len(batch) for batch in found]
    short = [i for i, count in enumerate(sizes) if count != size]
    if max(sizes) <= size and len(short) <= 1 and len(sizes) == -(-len(lengths) // size):
        return None
    return Fault(f"batches of {', '.join(map(str, sizes))}", f"all of {size} but one", "",
                 "a pool holds pool * batch_size samples, so that it can be cut without a rest.")  # fmt: skip


def _apart(found: Any, lengths: list[int], size: int, pool: int, seed: int) -> Fault | None:
    for start in range(0, len(found), pool):
        batches = sorted(sorted(lengths[one] for one in batch) for batch in found[start : start + pool])
        for a, b in itertools.pairwise(batches):
            if a[-1] > b[0]:
                return Fault(
                    f"in pool {start // pool}, lengths {a} and {b}",
                    "each batch shorter throughout than the next one of its pool (equal lengths may meet)",
                    "the padding of a batch is decided by its longest sample: neighbours in length belong together.",
                    f"sort a pool of {pool} x {size} samples by length, then cut it.",
                )
    return None
