"""What a timeline says about itself: sums, frame, words, picture, trace."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.picture import Picture
from labkit.pipeline import draw_lanes, jittered, simulate
from labkit.pipeline.perfetto import trace

time = st.floats(0, 50)
runs = st.builds(
    lambda line, depth, workers, get: simulate(
        [p for p, _ in line], [c for _, c in line], depth=depth, workers=workers, get_cost=get
    ),
    st.lists(st.tuples(time, time), min_size=1, max_size=12),
    st.one_of(st.none(), st.integers(0, 4)),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.5]),
)
SLOW = simulate(14, 10, batches=4)


def test_it_cant_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SLOW.depth = 3
    with pytest.raises(TypeError):
        SLOW.waits[0] = 3


def test_frame_of_the_worked_example():
    frame = SLOW.frame()
    assert list(frame.columns) == ["batch", "stage", "start", "end", "lane"]
    rows = [tuple(row) for row in frame[frame.batch == 1].itertuples(index=False)]
    assert rows == [(1, "prepare", 14, 28, "worker 0"), (1, "wait", 24, 28, "trainer"), (1, "train", 28, 38, "trainer")]
    held = simulate(2, 10, batches=4, depth=1).frame()
    assert held[held.batch == 2].values.tolist() == [
        [2, "prepare", 4, 6, "worker 0"],
        [2, "blocked", 6, 12, "worker 0"],
        [2, "queue", 6, 22, "queue"],
        [2, "train", 22, 32, "trainer"],
    ]


@given(runs)
def test_nobody_does_two_things_at_once(timeline):
    frame = timeline.frame()
    assert (frame.end >= frame.start).all()
    for lane, rows in frame[frame.lane != "queue"].groupby("lane"):
        assert all(a <= b for a, b in zip(rows.end[:-1], rows.start[1:], strict=True)), lane
    trainer = frame[frame.lane == "trainer"]
    assert (trainer.end - trainer.start).sum() == pytest.approx(timeline.makespan)
    assert timeline.frame().query("stage == 'prepare'").batch.tolist() == list(range(len(timeline)))


@given(runs)
def test_no_more_batches_wait_than_the_queue_holds(timeline):
    if timeline.depth is None:
        return
    for moment in timeline.queued:
        handed_over = sum(time <= moment for time in timeline.queued)
        taken = sum(start <= moment for start in timeline.train_start)
        assert handed_over - taken <= timeline.depth


def test_summary_names_the_key_figures():
    words = SLOW.summary()
    for part in ("serial 96", "overlapped 66", "first wait is 14", "waits 12 in all (3 times)", "no limit"):
        assert part in words
    assert "depth 2" in simulate(6, 10, batches=4, depth=2).summary()
    assert repr(SLOW) == f"Timeline({words})"


@pytest.mark.parametrize(
    "timeline",
    [
        SLOW,
        simulate(0, 0, batches=1),
        simulate(jittered(25, 14, 0.6, 3), 10, workers=3, prefetch_factor=2),
        simulate(jittered(8, 300, 0.9, 1), 9, depth=1, workers=5),
    ],
    ids=["slow", "nothing", "workers", "long"],
)
def test_every_picture_says_what_it_shows(timeline):
    picture = timeline.plot()
    assert isinstance(picture, Picture)
    assert f"overlapped {timeline.makespan:.6g}" in picture.alt
    assert f"serial {timeline.serial:.6g}" in picture.alt
    assert list(picture.table["wait"]) == list(timeline.waits[:200])
    assert picture.png()[:4] == b"\x89PNG"
    if len(timeline) > 200:
        assert "the first 200 of 300 batches" in picture.figure.axes[0].get_title("left")


def test_waits_are_written_on_the_bars():
    written = [text.get_text() for text in SLOW.plot().figure.axes[0].texts]
    assert written.count("wait 4") == 3
    assert "first wait 14" in written
    assert [text for text in written if text.isdigit()] == ["0", "1", "2", "3"] * 2


def test_numbers_drop_out_when_bars_are_narrow():
    written = [text.get_text() for text in simulate(1, 1, batches=150).plot().figure.axes[0].texts]
    assert written == []


def test_lanes_of_ones_own():
    picture = draw_lanes([("you", [(0, 6, "0", "prepare"), (6, 16)])], marks=[(16, "end")], title="mine")
    assert "mine" in picture.alt
    assert "end at 16" in picture.alt
    assert picture.table.values.tolist() == [["you", 0, 6, "0", "prepare"], ["you", 6, 16, "", "plain"]]


@pytest.mark.parametrize(
    ("lanes", "message"),
    [
        ([], "lanes is empty"),
        ([("you", [(6, 0)])], "'you' holds 6 to 0"),
        ([("you", [(0, float("nan"))])], "'you' holds 0 to nan"),
        ([("you", [3])], "'you' holds 3: an interval is"),
        ([("you", [(0, ...)])], "'you' holds"),
        ([("you", [(0, 1, "", "green")])], "style is 'green': choose one of prepare, train"),
    ],
)
def test_lanes_that_cant_be_drawn(lanes, message):
    with pytest.raises(UsageError, match=message):
        draw_lanes(lanes)


@given(runs)
def test_a_trace_has_every_interval_once_on_its_named_lane(timeline):
    data = json.loads(json.dumps(trace(timeline)))
    names = {e["tid"]: e["args"]["name"] for e in data["traceEvents"] if e["name"] == "thread_name"}
    slices = [e for e in data["traceEvents"] if e["ph"] == "X"]
    frame = timeline.frame().query("lane != 'queue'")
    assert [(names[e["tid"]], e["cat"], e["args"]["batch"]) for e in slices] == list(
        zip(frame.lane, frame.stage, frame.batch, strict=True)
    )
    assert [e["ts"] / 1000 for e in slices] == pytest.approx(list(frame.start))
    assert sum(e["dur"] for e in slices if names[e["tid"]] == "trainer") / 1000 == pytest.approx(timeline.makespan)


def test_a_trace_is_written_and_a_bad_path_is_named(tmp_path):
    path = SLOW.to_perfetto(tmp_path / "line.json")
    assert [e["dur"] for e in json.loads(path.read_text())["traceEvents"] if e.get("cat") == "wait"] == [
        14e3,
        4e3,
        4e3,
        4e3,
    ]
    with pytest.raises(UsageError, match=r"can't write .*nowhere"):
        SLOW.to_perfetto(tmp_path / "nowhere" / "line.json")
