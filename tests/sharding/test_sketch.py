"""Drawings of answers: what a person says is drawn as it is, right or wrong, and an open answer draws nothing."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from labkit.sharding import plan, plan_distributed_sampler, sketch
from labkit.sketching import OPEN

pytestmark = pytest.mark.slow  # real processes all through


def boxes(picture, *, hatched=None):
    """The boxes of a picture: all, or those with or without hatching."""
    found = [p for axes in picture.figure.axes for p in axes.patches if isinstance(p, Rectangle) and p.get_fill()]
    return [p for p in found if hatched is None or bool(p.get_hatch()) is hatched]


def labels(picture):
    return [text.get_text() for axes in picture.figure.axes for text in axes.texts]


def torchs(samples, ranks, rank, drop_last):
    return [
        one for batch in plan_distributed_sampler(samples, ranks, drop_last=drop_last).per_rank[rank] for one in batch
    ]


def unfilled(samples, ranks, rank, drop_last):
    return list(range(rank, samples, ranks))


def accelerates(samples, batch_size, ranks, rank, even_batches, drop_last):
    return plan(samples, batch_size, ranks, even_batches=even_batches, drop_last=drop_last).per_rank[rank]


def test_a_right_share_has_its_borrowed_ids_hatched_and_starred():
    picture = sketch.sketch_share(torchs, 10, 4)
    assert len(boxes(picture, hatched=True)) == 2
    assert len(boxes(picture, hatched=False)) == 10
    assert {"0*", "1*"} <= set(labels(picture))
    assert "10 samples on 4 ranks, 3 steps each, 2 again, 0 read by nobody" in picture.alt
    assert list(picture.table[picture.table["borrowed"]]["id"]) == [0, 1]


def test_a_wrong_share_is_drawn_as_it_is():
    picture = sketch.sketch_share(unfilled, 10, 4)
    assert "steps 3, 3, 2, 2, 0 again, 0 read by nobody" in picture.alt
    assert not boxes(picture, hatched=True)
    everything = sketch.sketch_share(lambda samples, ranks, rank, drop: range(samples - 1), 4, 2)
    assert "3 steps each, 3 again, 1 read by nobody" in everything.alt


def test_batches_keep_their_shape():
    picture = sketch.sketch_batches(accelerates, 21, 4, 2, even_batches=False)
    assert "rank 1: [[4, 5, 6, 7], [12, 13, 14, 15], [20]]" in picture.alt
    filled = sketch.sketch_batches(accelerates, 21, 4, 2)
    assert len(boxes(filled, hatched=True)) == 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda *a: [99], "99 is not an id from 0 to 9"),
        (lambda *a: [0.0], "0.0 is not an id"),
        (lambda *a: 7, "can't be drawn (TypeError"),
        (lambda *a: 1 / 0, "can't be drawn (ZeroDivisionError"),
    ],
)
def test_what_cannot_be_drawn_says_why(answer, said):
    assert said in sketch.sketch_share(answer, 10, 4).alt


def stub(*args):
    raise NotImplementedError


OPEN_CLAIM = {"duplicates": ..., "dropped": ..., "steps": ..., "hang": ...}
DRAWN = pd.DataFrame(
    [
        ("A", 0, 0, "001 002", "001 002"),
        ("A", 0, 1, "003 004", "005 006"),
        ("B", 0, 0, "7", "8"),
        ("B", 0, 1, "7", "9"),
    ],
    columns=["job", "rank", "worker", "epoch 0", "epoch 1"],
)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: sketch.sketch_share(stub, 10, 4),
        lambda: sketch.sketch_batches(stub, 10, 2, 2),
        lambda: sketch.sketch_epochs([[1, 2], [2, 1]], ...),
        lambda: sketch.sketch_traffic(1, ..., ..., ...),
        lambda: sketch.sketch_claims({"A": {}}, {"A": OPEN_CLAIM}),
        lambda: sketch.sketch_gradients(stub, [3, 2]),
        lambda: sketch.sketch_draws(DRAWN, {"A": ..., "B": ...}),
        lambda: sketch.sketch_findings({"A": 1}, {"A": {"cause": ..., "again": ..., "missing": ...}}),
    ],
)
def test_an_open_answer_draws_nothing(draw):
    assert draw().alt == OPEN


def test_epochs_hatch_what_the_person_says_not_what_is_so():
    picture = sketch.sketch_epochs([[1, 2], [3, 4], [1, 2]], [1])
    assert {box.get_y() for box in boxes(picture, hatched=True)} == {1 - 0.34}
    assert "You say repeated: 1" in picture.alt
    assert list(picture.table["you say"]) == ["new", "repeated", "new"]


def test_traffic_shows_the_persons_figures():
    picture = sketch.sketch_traffic(5, 40, 9000, 3000)
    assert [text.strip() for text in labels(picture)] == ["40", "5", "3,000", "9,000", "0"]


def test_claims_show_the_settings_that_are_answered():
    claim = {"duplicates": 3, "dropped": 0, "steps": [2, 1], "hang": True}
    picture = sketch.sketch_claims({"A": {}, "B": {}}, {"A": OPEN_CLAIM, "B": claim})
    assert picture.alt == "You say: B steps 2, 1, 3 again, 0 dropped, hangs."
    assert labels(picture).count("none") == 1
    half = {"A": OPEN_CLAIM | {"duplicates": 1}}
    assert sketch.sketch_claims({"A": {}}, half).alt == OPEN


def test_gradients_are_those_of_the_run():
    picture = sketch.sketch_gradients(lambda steps: [[1.0, 2.0, 1.5], [1.0, 2.0]], [3, 2])
    assert "rank 0: 1, 2, 1.5; rank 1: 1, 2" in picture.alt
    assert labels(picture).count("no step") == 1


@pytest.mark.slow
def test_gradients_from_real_ranks():
    """The function runs where it is drawn: on ranks."""
    from labkit.sharding import uneven_steps

    picture = sketch.sketch_gradients(lambda steps: uneven_steps(steps, divide_by_initial_world_size=False), [3, 2])
    assert "rank 0: 1, 2, 3; rank 1: 1, 2" in picture.alt


def test_equal_draws_have_equal_hatching():
    picture = sketch.sketch_draws(DRAWN, {"A": ["epochs"], "B": []})
    hatches = [box.get_hatch() for box in boxes(picture)]
    assert hatches[0] == hatches[1] != None  # noqa: E711  A, worker 0: both epochs
    assert hatches[2:4] == [None, None]  # A, worker 1: numbers of their own
    assert hatches[4] == hatches[6] != None  # noqa: E711  B, epoch 0: both workers
    assert picture.alt == "You say that these draw the same numbers: A: epochs; B: none."
    assert list(picture.table["job"]) == ["A", "A", "B", "B"]
    assert len(sketch.sketch_draws(DRAWN, {"A": ..., "B": ["workers"]}).table) == 2


def test_findings_show_cause_and_counts():
    picture = sketch.sketch_findings(
        {"A": 1, "B": 2},
        {"A": {"cause": "padding", "again": 3, "missing": 0}, "B": {"cause": ..., "again": ..., "missing": ...}},
    )
    assert picture.alt == "You say: A padding, 3 again, 0 read by nobody."
    assert [tick.get_text() for tick in picture.figure.axes[0].get_yticklabels()] == ["A: padding"]
