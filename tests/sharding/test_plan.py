"""plan: exactly what accelerate and torch do, on paper and against the real ones; clear about input it can't use."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate.data_loader import BatchSamplerShard, IterableDatasetShard
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, SequentialSampler

from labkit.errors import UsageError
from labkit.sharding import plan, plan_dispatch, plan_distributed_sampler

DATA = Path(__file__).parents[2] / "data"
ORACLE = json.loads((DATA / "sharding_oracle.json").read_text())
NAMES = ("split_batches", "even_batches", "drop_last")
FLAGS = [dict(zip(NAMES, values, strict=True)) for values in itertools.product((False, True), repeat=3)]

sizes = st.tuples(st.integers(1, 60), st.integers(1, 9), st.integers(1, 6))


def accelerate_batches(samples, batch_size, ranks, split_batches, even_batches, drop_last):
    """Every rank's batches, from accelerate itself."""
    return [
        [
            list(batch)
            for batch in BatchSamplerShard(
                BatchSampler(SequentialSampler(range(samples)), batch_size, drop_last),
                ranks,
                rank,
                split_batches,
                even_batches,
            )
        ]
        for rank in range(ranks)
    ]


def figures_of(per_rank, samples):
    """Duplicates, drops and steps, counted from the batches alone."""
    counts = Counter(one for batches in per_rank for batch in batches for one in batch)
    again = sorted((counts - Counter(dict.fromkeys(counts, 1))).elements())
    return again, [i for i in range(samples) if i not in counts], [len(batches) for batches in per_rank]


def figures(made):
    return sorted(made.duplicates), list(made.dropped), list(made.steps)


def test_the_oracle_file_is_the_one_described():
    assert [len(ORACLE["batch_sampler_shard"]), len(ORACLE["distributed_sampler"])] == [120, 60]
    digest = hashlib.sha256((DATA / "sharding_oracle.json").read_bytes()).hexdigest()
    assert f"`{digest}`" in (DATA / "README.md").read_text()


def test_the_recorded_batches_of_accelerate():
    for case in ORACLE["batch_sampler_shard"]:
        made = plan(**{name: value for name, value in case.items() if name != "per_rank"})
        assert made.per_rank == case["per_rank"], case


def test_the_recorded_ids_of_torch():
    for case in ORACLE["distributed_sampler"]:
        made = plan_distributed_sampler(case["samples"], case["ranks"], drop_last=case["drop_last"])
        assert [[one for batch in batches for one in batch] for batches in made.per_rank] == case["per_rank"], case


def test_the_whole_grid_against_accelerate():
    tried = 0
    for samples, batch_size, ranks in itertools.product(range(1, 41), range(1, 9), range(1, 6)):
        for flags in FLAGS:
            if flags["split_batches"] and batch_size % ranks:
                continue
            real = accelerate_batches(samples, batch_size, ranks, **flags)
            made = plan(samples, batch_size, ranks, **flags)
            at = (samples, batch_size, ranks, flags)
            assert made.per_rank == real, at
            assert figures(made) == figures_of(real, samples), at
            assert made.hang_risk == (len({len(batches) for batches in real}) > 1), at
            tried += 1
    assert tried == 9120


@pytest.mark.parametrize("drop_last", [False, True])
def test_the_whole_grid_against_torch(drop_last):
    for samples, batch_size, ranks in itertools.product(range(1, 41), range(1, 9), range(1, 6)):
        data = range(samples)
        real = []
        for rank in range(ranks):
            sampler = DistributedSampler(data, ranks, rank, shuffle=False, drop_last=drop_last)
            real.append([list(batch) for batch in BatchSampler(sampler, batch_size, drop_last=False)])
        made = plan_distributed_sampler(samples, ranks, batch_size, drop_last=drop_last)
        assert made.per_rank == real, (samples, batch_size, ranks)
        assert figures(made) == figures_of(real, samples)


@given(st.integers(1, 40), st.integers(1, 5), st.booleans(), st.integers(0, 3), st.integers(0, 3))
def test_shuffled_as_torch_shuffles(samples, ranks, drop_last, seed, epoch):
    made = plan_distributed_sampler(samples, ranks, 3, drop_last=drop_last, shuffle=True, seed=seed, epoch=epoch)
    for rank in range(ranks):
        sampler = DistributedSampler(range(samples), ranks, rank, shuffle=True, seed=seed, drop_last=drop_last)
        sampler.set_epoch(epoch)
        assert made.per_rank[rank] == [list(batch) for batch in BatchSampler(sampler, 3, drop_last=False)]


@given(sizes)
def test_split_is_refused_where_accelerate_refuses_it(size):
    samples, batch_size, ranks = size
    try:
        accelerate_batches(samples, batch_size, ranks, True, True, False)
    except ValueError:
        with pytest.raises(UsageError, match=f"batch_size is {batch_size} and ranks is {ranks}: .*multiple of {ranks}"):
            plan(samples, batch_size, ranks, split_batches=True)
    else:
        plan(samples, batch_size, ranks, split_batches=True)


@given(sizes, st.booleans())
def test_iterable_shards_get_the_same_samples(size, drop_last):
    samples, batch_size, ranks = size
    made = plan(samples, batch_size, ranks, drop_last=drop_last)
    for rank in range(ranks):
        shard = IterableDatasetShard(range(samples), batch_size, drop_last, ranks, rank)
        assert [one for batch in made.per_rank[rank] for one in batch] == list(shard)


def dispatched(samples, batch_size, ranks, split_batches, drop_last):
    """What accelerate's DataLoaderDispatcher does with its rounds, followed by hand on plain lists.

    Rank 0 reads a round; where the last one can't be cut evenly, the first round's first `ranks` samples are added.
    """
    size = batch_size if split_batches else batch_size * ranks
    rounds = [list(range(i, min(i + size, samples))) for i in range(0, samples, size)]
    if drop_last and len(rounds[-1]) < size:
        rounds.pop()
    per_rank = [[] for _ in range(ranks)]
    for number, one in enumerate(rounds):
        share = len(one) // ranks
        if number == len(rounds) - 1 and len(one) % ranks:
            one, share = one + rounds[0][:ranks], share + 1
        for rank in range(ranks):
            per_rank[rank].append(one[rank * share : (rank + 1) * share])
    return per_rank


@given(sizes, st.booleans(), st.booleans())
def test_dispatch_borrows_only_up_to_a_multiple_of_ranks(size, split_batches, drop_last):
    samples, batch_size, ranks = size
    if split_batches:
        batch_size *= ranks
    made = plan_dispatch(samples, batch_size, ranks, split_batches=split_batches, drop_last=drop_last)
    if samples >= ranks or drop_last:  # else accelerate has too few to borrow and crashes
        assert made.per_rank == dispatched(samples, batch_size, ranks, split_batches, drop_last)
    assert len(made.duplicates) < ranks
    assert not made.hang_risk


@given(sizes, st.sampled_from(FLAGS))
def test_what_holds_for_every_plan(size, flags):
    samples, batch_size, ranks = size
    if flags["split_batches"]:
        batch_size *= ranks
    made = plan(samples, batch_size, ranks, **flags)
    assert figures(made) == figures_of(made.per_rank, samples)
    if flags["even_batches"] or flags["drop_last"]:
        assert not made.hang_risk
        assert not made.ragged_steps
    if not flags["drop_last"]:
        assert made.dropped == ()
    if flags["drop_last"] or not flags["even_batches"]:
        assert made.duplicates == ()
    limit = batch_size - 1 if flags["split_batches"] else ranks * batch_size - 1
    assert len(made.duplicates) <= limit
    frame = made.frame()
    assert len(frame) == sum(len(batch) for batches in made.per_rank for batch in batches)
    assert frame["borrowed"].sum() == len(made.duplicates)
    assert json.loads(json.dumps(made.as_dict()))["per_rank"] == made.per_rank


@given(sizes)
def test_every_sample_once_before_any_twice(size):
    """Borrowed or not is marked so that what isn't borrowed is every sample exactly once."""
    made = plan(*size)
    frame = made.frame()
    assert sorted(frame.loc[~frame["borrowed"], "id"]) == list(range(size[0]))
    firsts = [made.borrowed(rank, step) for rank in range(made.ranks) for step in range(made.steps[rank])]
    assert sum(map(sum, firsts)) == len(made.duplicates)


def test_the_figures_the_course_quotes():
    assert len(plan(1000, 64, 8).duplicates) == 24
    assert plan(21, 3, 2).duplicates == (0, 1, 2)
    assert plan(20, 3, 2, even_batches=False).hang_risk
    assert plan(20, 3, 2, even_batches=False).steps == (4, 3)
    assert plan(200, 256, 1, drop_last=True).steps == (0,)  # a whole data set dropped without a word


def test_ids_of_any_kind_in_the_order_given():
    made = plan(["c", "a", ("b", 1)], 2, 2)
    assert made.per_rank == [[["c", "a"]], [[("b", 1), "c"]]]
    assert plan(np.array([5, 7, 9]), 1, 2).per_rank == [[[5], [9]], [[7], [5]]]
    assert plan(torch.tensor([5, 7]), 2, 1).per_rank == [[[5, 7]]]
    assert plan((x for x in "ab"), 1, 2).per_rank == [[["a"]], [["b"]]]


def test_an_uneven_step_is_named():
    made = plan(11, 3, 2, even_batches=False)
    assert (made.steps, made.ragged_steps) == ((2, 2), (1,))


def test_it_says_what_it_found():
    text = plan(22, 3, 2).text()
    assert "2 samples handed out again (0, 1)" in text
    assert "rank 1: [3 4 5] [9 10 11] [15 16 17] [21 0* 1*]" in text
    assert (
        "Steps differ (rank 0 4, rank 1 3): a collective in every step hangs."
        in plan(20, 3, 2, even_batches=False).text()
    )
    assert "4 samples dropped (6, 7, 8, 9)" in plan(10, 3, 2, drop_last=True).text()
    assert "rank 1: nothing" in plan(2, 2, 2, even_batches=False).text()
    assert "1 sample, batch size 1, 1 rank," in plan(1, 1, 1).summary()
    assert len(repr(plan(100_000, 64, 8))) < 400


@pytest.mark.parametrize(
    "made",
    [
        plan(22, 3, 2),
        plan(20, 3, 2, even_batches=False),
        plan(1000, 64, 8),
        plan(3, 8, 2, drop_last=True),
        plan(500, 1, 3),
    ],
    ids=["borrows", "hangs", "large", "empty", "long"],
)
def test_the_picture_says_the_same_as_the_text(made):
    picture = made.plot()
    assert picture.alt == made.summary()
    assert picture.png().startswith(b"\x89PNG")
    drawn = [text.get_text() for axes in picture.figure.axes for text in axes.texts]
    hatched = [patch for axes in picture.figure.axes for patch in axes.patches if patch.get_hatch()]
    assert bool(hatched) == bool(made.duplicates)
    assert any(text.endswith("*") for text in drawn) == bool(made.duplicates)


BAD = [
    ((0, 3, 2), {}, r"samples is 0: an empty data set"),
    (([], 3, 2), {}, r"samples is empty"),
    ((-5, 3, 2), {}, r"samples is -5: give a whole number, 1 or more"),
    ((2.5, 3, 2), {}, r"samples is 2\.5: give a whole number"),
    ((float("nan"), 3, 2), {}, r"samples is nan"),
    ((None, 3, 2), {}, r"samples is None"),
    ((True, 3, 2), {}, r"samples is True"),
    (("abc", 3, 2), {}, r"samples is 'abc'"),
    (([1, [2], 3], 3, 2), {}, r"samples\[1\] is \[2\], which isn't hashable"),
    (([1, {"a": 2}], 3, 2), {}, r"samples\[1\] is \{'a': 2\}, which isn't hashable"),
    (([4, 5, 4], 3, 2), {}, r"samples\[2\] is 4, as is samples\[0\]"),
    (([1, float("nan")], 3, 2), {}, r"samples\[1\] is nan"),
    ((10, 0, 2), {}, r"batch_size is 0: give a whole number, 1 or more"),
    ((10, -3, 2), {}, r"batch_size is -3"),
    ((10, 2.0, 2), {}, r"batch_size is 2\.0"),
    ((10, "3", 2), {}, r"batch_size is '3'"),
    ((10, 3, 0), {}, r"ranks is 0: give a whole number, 1 or more"),
    ((10, 3, None), {}, r"ranks is None"),
    ((10, 3, 2), {"split_batches": True}, r"batch_size is 3 and ranks is 2: .*such as 2 or 4"),
    ((10, 3, 2), {"drop_last": "no"}, r"drop_last is 'no': give True or False"),
    ((10, 3, 2), {"even_batches": None}, r"even_batches is None"),
]


@pytest.mark.parametrize(("args", "flags", "message"), BAD)
def test_bad_input_gets_one_line(args, flags, message):
    with pytest.raises(UsageError, match=message) as caught:
        plan(*args, **flags)
    assert "\n" not in str(caught.value)
    assert re.search(r"\bgive\b", str(caught.value))


def test_bad_input_for_the_other_rules():
    with pytest.raises(UsageError, match="ranks is 0"):
        plan_distributed_sampler(10, 0)
    with pytest.raises(UsageError, match="epoch is -1"):
        plan_distributed_sampler(10, 2, epoch=-1)
    with pytest.raises(UsageError, match="multiple of 2"):
        plan_dispatch(10, 3, 2, split_batches=True)


def test_a_real_dataloader_agrees():
    """The ids a DataLoader hands out under torch's sampler are the plan's."""
    made = plan_distributed_sampler(13, 2, 4)
    for rank in range(2):
        loader = DataLoader(range(13), batch_size=4, sampler=DistributedSampler(range(13), 2, rank, shuffle=False))
        assert [batch.tolist() for batch in loader] == made.per_rank[rank]
