"""Drawings of answers about the line: what an answer does is in the words; open and broken answers say so."""

from __future__ import annotations

import pytest

from labkit.checks.lab07_builds import first_difference
from labkit.checks.lab07_runs import Four, leave_behind, plan_of, stopped_and_resumed
from labkit.resume import Line, reconcile, train
from labkit.resume import sketch_line as sketch
from labkit.resume.line import FAULTS, StepRecord
from labkit.resume.sketch_torch import PARTS, resumed_with, sketch_torch

OPEN = "still open"
NEEDED = [part for part in PARTS if part not in ("gradients", "loss")]


def capture(line):
    return {"state": line.state()}


def restore(line, snapshot):
    vars(line).update(vars(Line.restore(snapshot["state"])))


def restore_cold(line, snapshot):
    restore(line, snapshot)
    line.vw = line.vb = 0.0


def test_target_is_drawn_as_it_was_said():
    assert "to step 99; --steps is 80" in sketch.sketch_target(19, 80, 80, 16, 3).alt
    assert OPEN in sketch.sketch_target(19, 80, ..., ..., ...).alt


def test_capture_shows_the_components_that_part():
    right = sketch.sketch_capture(stopped_and_resumed(capture, restore), 7, 19, 24)
    assert right.alt == "Captured at step 19, resumed to 24. Differs: nothing; the snapshot stays as it was taken."
    assert right.table["same"].all()
    cold = sketch.sketch_capture(stopped_and_resumed(capture, restore_cold), 7, 19, 24)
    assert "Differs: parameters from 20, optimizer from 20;" in cold.alt
    live = sketch.sketch_capture(stopped_and_resumed(lambda line: vars(line) | {"rng": 0}, restore), 7, 19, 24)
    assert "can't be drawn" in live.alt

    def stub(line):
        raise NotImplementedError

    assert OPEN in sketch.sketch_capture(stopped_and_resumed(stub, restore), 7, 19, 24).alt
    assert "left the new line" in sketch.sketch_capture(stopped_and_resumed(capture, lambda a, b: None), 7, 19, 24).alt


def test_a_snapshot_that_goes_with_the_line_is_seen():
    def live(line):
        return {**line.state(), "sampleOrder": line.order}

    found = stopped_and_resumed(live, lambda line, s: vars(line).update(vars(Line.restore(s))))(7, 19, 24)
    assert found["saved"] != found["later"]
    assert [row["step"] for row in found["rows"]] == [20, 21, 22, 23, 24]


JOB = {"seed": 41, "killed": 30, "target": 70}


def test_what_a_killed_run_leaves_behind():
    """The log is the real run's, step by step; of the checkpoints exactly the right ones agree with it."""
    log, saved = leave_behind(JOB)
    assert log.records == train(30, seed=41).records
    agree = {letter for letter, state in saved.items() if reconcile(log, state) is None}
    assert agree == {letter for letter, (kind, _) in plan_of(JOB).items() if kind == "right"}
    assert len(agree) == 2
    drawn = sketch.sketch_continue(log, saved, min(agree), 70)
    assert "ends at step 70" in drawn.alt
    assert OPEN in sketch.sketch_continue(log, saved, ..., ...).alt


@pytest.mark.parametrize("seed", range(40))
def test_planted_checkpoints_differ_from_the_log(seed):
    """Whatever the seed: a flawed checkpoint is flawed, and newer than every right one, or trust would be easy."""
    job = {"seed": seed, "killed": 26 + seed % 13}
    steps = {kind: [s for k, s in plan_of(job).values() if k == kind] for kind, _ in plan_of(job).values()}
    assert set(steps) == {"right", "prefetched", "mixed", "momentum"}
    assert len(steps["right"]) == 2
    assert max(steps["right"]) <= min(steps["prefetched"] + steps["momentum"] + [s - 1 for s in steps["mixed"]])


def test_first_differences_are_drawn_as_said():
    first = dict.fromkeys(FAULTS, (20, "rngState"))
    drawn = sketch.sketch_first(19, first, {"drop-optimizer": None, "reset-cursor": 20, "reset-rng": 21})
    assert "drop-optimizer: rngState after step 20, never other samples" in drawn.alt
    assert OPEN in sketch.sketch_first(19, first, dict.fromkeys(FAULTS, ...)).alt


def test_a_function_is_shown_on_four_resumes():
    said = sketch.sketch_differences(first_difference)
    assert said.alt == (
        "Your function says right: no difference; drop-optimizer: parameters at 20; reset-cursor: ids at 20; "
        "reset-rng: rng at 20."
    )


def test_verdicts():
    runs = Four({"seed": 41, "stopped": 22})
    drawn = sketch.sketch_verdicts(runs, {"A": "nothing", "B": "cursor", "C": "nothing", "D": "momentum"})
    assert "B lost cursor" in drawn.alt
    assert OPEN in sketch.sketch_verdicts(runs, dict.fromkeys("ABCD", ...)).alt
    assert all(run.fault is None for run in runs.values())


def test_torch_snapshots():
    """All needed parts, copied: the same records. Live, or without one of them: not the same."""
    whole, again = resumed_with(41, 0.98, 10, 20, NEEDED, "copied")
    assert whole == again
    assert isinstance(whole[0], StepRecord)
    assert resumed_with(41, 0.98, 10, 20, NEEDED, "live")[1] != whole
    for part in NEEDED:
        assert resumed_with(41, 0.98, 10, 20, [one for one in NEEDED if one != part], "copied")[1] != whole, part
    assert "stay the same" in sketch_torch(41, 0.98, 10, NEEDED, "copied", (0.02, 0.02)).alt
    assert "differ from step 11" in sketch_torch(41, 0.98, 10, ["model"], "copied", (..., ...)).alt
    assert OPEN in sketch_torch(41, 0.98, 10, ..., ..., (..., ...)).alt
    assert "choose from model" in sketch_torch(41, 0.98, 10, ["weights"], "copied", (0, 0)).alt
