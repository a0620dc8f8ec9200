"""What reconcile compares, in which order, and what it says."""

from __future__ import annotations

import copy
import json
import os

import pytest

from labkit.errors import UsageError
from labkit.resume import COMPONENTS, Line, reconcile, train
from labkit.resume.checkpoint_file import write_checkpoint
from labkit.resume.reconciliation import next_shuffle


@pytest.fixture(scope="module")
def state():
    return train(18).state


def changed(state, component):
    """The state with one component another one, still a state that could be."""
    other = copy.deepcopy(state)
    if component == "parameters":
        other["parameters"]["b"] += 1e-15
    elif component == "optimizer":
        other["optimizer"]["velocity"]["w"] *= 1 + 1e-12
    elif component == "samplePosition":
        other["samplePosition"] -= 4
    elif component == "sampleOrder":
        order = other["sampleOrder"]
        order[0], order[15] = order[15], order[0]
    elif component == "rngState":
        other["rngState"][1][100] ^= 1
    return other


@pytest.mark.parametrize("component", [c for c in COMPONENTS if c not in ("dataset", "sampleIds", "learningRate")])
def test_one_component_of_two_checkpoints(component, state, tmp_path):
    other = changed(state, component)
    found = reconcile(state, other)
    assert (found.component, found.step) == (component, 18)
    assert [name for name, step in found.first.items() if step is not None] == [component]
    assert found.a != found.b
    write_checkpoint(tmp_path / "a.json", state)
    write_checkpoint(tmp_path / "b.json", other)
    assert reconcile(tmp_path / "a.json", tmp_path / "b.json") == found
    assert reconcile(state, copy.deepcopy(state)) is None


def test_what_the_next_update_does_is_what_it_does(state):
    found = reconcile(state, changed(state, "samplePosition"))
    ids = [list(Line.restore(s).advance().ids) for s in (state, changed(state, "samplePosition"))]
    said = "step 19 reads samples {} in A, {} in B".format(*(", ".join(map(str, i)) for i in ids))
    assert said in found.effect
    assert "4 samples are read again in B" in found.effect
    a, b = (Line.restore(s) for s in (state, changed(state, "samplePosition")))
    moves = []
    for line in (a, b):
        before = line.w
        moves.append(line.advance().w - before)
    assert f"moves w by {moves[0]:+.4g}" in found.effect
    assert f"w by {moves[1]:+.4g}" in found.effect


def test_the_shuffler_waits_for_its_turn(state):
    found = reconcile(state, changed(state, "rngState"))
    assert found.effect.startswith("nothing yet, the order is already drawn; step 21 shuffles")
    assert "in both" in found.effect
    assert next_shuffle(18, 8) == 21
    line = Line.restore(state)
    orders = [line.advance().order for _ in range(4)]
    assert orders[1] == orders[0]
    assert orders[2] != orders[1]  # step 21


def test_dates_and_places_of_files_are_not_state(state, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    write_checkpoint(tmp_path / "a.json", state)
    write_checkpoint(tmp_path / "elsewhere" / "another-name.json", state)
    os.utime(tmp_path / "a.json", (0, 0))
    assert reconcile(tmp_path / "a.json", tmp_path / "elsewhere" / "another-name.json") is None


def test_a_report_and_a_checkpoint(state):
    assert reconcile(train(80), state) is None
    found = reconcile(train(80), changed(state, "optimizer"))
    assert (found.component, found.step) == ("optimizer", 18)


def test_no_step_in_common(state):
    with pytest.raises(UsageError, match="the first holds step 18, the second steps 1 to 5; no step is in both"):
        reconcile(state, train(5))


def test_two_seeds_part_at_the_first_sample():
    found = reconcile(train(8), train(8, seed=8))
    assert (found.component, found.step) == ("sampleIds", 1)


def test_the_last_step_has_a_next_update_too():
    a, b = train(20), train(20, resume=train(19).state, fault="drop-optimizer")
    found = reconcile(a, b)
    assert found.step == 20
    assert "step 21 moves" in found.effect


def test_as_json_and_frame():
    found = reconcile(train(8), train(8, seed=8))
    assert json.loads(found.to_json())["first"]["sampleIds"] == 1
    assert list(found.frame()["component"]) == list(COMPONENTS)
    assert found.text().splitlines()[0] == "first difference: sampleIds after step 1"


def test_what_cant_be_compared(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(UsageError, match="neither a report"):
        reconcile(tmp_path / "x.json", tmp_path / "x.json")
    with pytest.raises(UsageError, match="can't compare a int"):
        reconcile(3, 4)
