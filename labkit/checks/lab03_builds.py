"""What lab 03 asks to be written, but for its shuffles: a hash of samples, length buckets."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from labkit.checks.answer import Answer, call_text
from labkit.checks.evidence import Fault, Rule, judged, over_inputs
from labkit.checks.result import Evidence

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
