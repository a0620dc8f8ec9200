"""The auditor: clean programs pass in silence, each fault is named where it begins, kills are real."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import audit_programs as programs

from labkit.errors import UsageError
from labkit.resume import ALL_PHASES, PHASES, Statistical, audit

pytestmark = pytest.mark.slow


def test_a_clean_program_passes_at_every_step_and_phase_once_and_twice():
    found = audit(programs.Plain(), steps=4)
    assert (found.kept, found.attained, found.findings, found.harmless) == (True, "bitwise", (), ()), found.text()
    assert [(k.step, k.phase) for s in found.scenarios if len(s.kills) == 1 for k in s.kills] == [
        (step, phase) for step in (1, 2, 3) for phase in PHASES
    ]
    assert sorted(tuple(k.step for k in s.kills) for s in found.scenarios if len(s.kills) == 2) == [(1, 2), (2, 3)]
    assert found.lives == 2 + 2 * 18 + 3 * 2
    picture = found.plot()
    assert picture.alt == "20 killed runs of 4 steps: 20 go on the same."
    assert len(picture.table) == 20
    assert json.loads(json.dumps(found.as_dict()))["kept"] is True


@pytest.mark.parametrize(("fault", "component"), [("optimizer", "optimizer"), ("rng", "rng")])
def test_a_fault_is_named_with_its_first_step(fault, component):
    found = audit(programs.Plain(fault), steps=4, phases=("after save",), kill_at=[2], twice=False)
    assert not found.kept
    assert [(one.component, one.rank, one.step) for one in found.findings] == [(component, 0, 2)]
    assert found.first.kills[0].text() == "step 2, after save"


def test_on_four_ranks_at_every_phase():
    found = audit(programs.Ranked(), steps=4, ranks=4, kill_at=[2])
    assert found.kept, found.text()
    assert {s.kills[0].phase for s in found.scenarios} == set(PHASES)


def test_the_rank_is_named():
    found = audit(programs.Ranked("rank 0"), steps=3, ranks=4, kill_at=[1], phases=("after save",), twice=False)
    assert [(one.component, one.rank, one.step) for one in found.findings] == [("rng", 1, 1)]
    assert found.first.kin == "that of rank 0"


def test_what_shows_only_after_a_second_kill():
    once = audit(programs.Counter("relative"), steps=6, twice=False)
    assert once.kept, once.text()
    twice = audit(programs.Counter("relative"), steps=6)
    assert [(one.component, one.only_twice) for one in twice.findings] == [("cursor", True)]
    assert len(twice.first.kills) == 2


def test_a_difference_that_changes_nothing_is_harmless():
    found = audit(programs.Stateless(), steps=5, twice=False)
    assert found.kept, found.text()
    assert "rng" in found.harmless[0]


def test_a_program_that_isnt_reproducible_is_told_so():
    found = audit(programs.Unseeded(), steps=3, twice=False, kill_at=[1])
    assert not found.kept
    assert found.first.component == "program"
    assert "two uninterrupted runs differ" in found.first.said


def test_rounding_breaks_bitwise_and_keeps_sample_exact():
    settings = {"steps": 4, "phases": ("after save",), "twice": False}
    exact = audit(programs.Plain("rounding"), **settings)
    assert (exact.kept, exact.attained, exact.first.component) == (False, "sample-exact", "model")
    loose = audit(programs.Plain("rounding"), contract="sample-exact", **settings)
    assert (loose.kept, loose.attained) == (True, "sample-exact")
    other = audit(programs.Plain("optimizer"), contract="sample-exact", **settings)
    assert (other.kept, other.attained) == (False, "none")


def test_statistical():
    same = audit(programs.Plain("rng"), steps=6, contract=Statistical(margin=0.5, runs=6))
    assert same.kept, same.text()
    assert same.equivalence.runs == (6, 6)
    tight = audit(programs.Plain("rng"), steps=6, contract=Statistical(margin=1e-6, runs=6))
    assert not tight.kept
    assert "not shown to be equivalent" in tight.text()


@pytest.mark.parametrize(("fault", "component"), [("", None), ("rng", "rng")])
def test_accelerate(fault, component):
    pytest.importorskip("accelerate")
    found = audit(
        programs.with_accelerate(fault), steps=4, phases=("during save", "after save"), twice=False, timeout=60
    )
    assert [one.component for one in found.findings] == ([component] if component else []), found.text()
    assert {s.kills[0].phase for s in found.scenarios} == {"during save", "after save"}


@pytest.mark.parametrize(
    ("fault", "component"), [("", None), ("optimizer", "optimizer"), ("lr_scheduler", "schedule"), ("model", "model")]
)
def test_a_trainer_that_owns_its_loop(fault, component):
    found = audit(programs.with_callbacks(fault), steps=4, phases=("before forward", "after save"), twice=False)
    assert [one.component for one in found.findings] == ([component] if component else []), found.text()


def test_kills_during_a_save_leave_half_a_file(tmp_path):
    class Watching(programs.Plain):
        def start(self, folder):
            for path in folder.iterdir():
                with (tmp_path / "seen").open("a") as file:
                    file.write(f"{path.name} {path.stat().st_size}\n")
            return super().start(folder)

    found = audit(Watching(), steps=3, kill_at=[2], phases=("during save", "before publish"), twice=False)
    assert found.kept
    seen = dict(line.split() for line in (tmp_path / "seen").read_text().splitlines())
    sizes = [int(s) for n, s in map(str.split, (tmp_path / "seen").read_text().splitlines()) if n == "new.pt"]
    assert len(sizes) == 2
    assert abs(2 * min(sizes) - int(seen["last.pt"])) <= 2  # cut at half its length
    assert max(sizes) == int(seen["last.pt"])  # whole, not yet renamed


def test_damage_is_tried_where_asked_for():
    found = audit(programs.Counter(), steps=3, kill_at=[1], phases=ALL_PHASES, twice=False)
    assert sum(s.kills[0].phase == "damaged" for s in found.scenarios) == 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"steps": 1}, "steps is 1"),
        ({"kill_at": [9]}, "kill_at holds 9: kills fall in steps 1 to 3"),
        ({"kill_at": "often"}, "kill_at is 'often'"),
        ({"phases": ("later",)}, "phases holds 'later'"),
        ({"contract": "exact"}, "contract is 'exact'"),
        ({"contract": "statistical"}, "Statistical"),
        ({"program": 3}, "program is a int without start, step, save"),
    ],
)
def test_wrong_values_are_named(settings, words):
    values = {"program": programs.Counter(), "steps": 4, **settings}
    with pytest.raises(UsageError, match=words):
        audit(values.pop("program"), **values)


def test_a_program_that_fails_by_itself_is_named():
    class Raises(programs.Counter):
        def step(self, state):
            raise KeyError("weights")

    class Stuck(programs.Counter):
        def step(self, state):
            pass

    class NoStep(programs.Counter):
        def start(self, folder):
            return {}

    for program, words in [
        (Raises(), "raises without any kill, after step 0: KeyError: 'weights'"),
        (Stuck(), "state's step went from 0 to 0"),
        (NoStep(), "state's step is None"),
    ]:
        with pytest.raises(UsageError, match=words):
            audit(program, steps=3)


def test_the_command(root):
    words = ["--steps", "3", "--kill-at", "1", "--once", "--json"]
    command = [sys.executable, "-m", "labkit.cli", "audit-resume"]
    here = {"cwd": Path(__file__).parent, "capture_output": True, "text": True, "check": False}
    if "audit-resume" not in subprocess.run([*command[:3], "--help"], **here).stdout:
        pytest.skip("the command isn't registered")
    good = subprocess.run([*command, "audit_programs:Counter", *words], **here)
    assert (good.returncode, json.loads(good.stdout)["kept"]) == (0, True), good.stderr
    assert subprocess.run([*command, "no_such.py:x", *words], **here).returncode == 2


def test_progress_that_is_lost_is_found():
    class StartsOver(programs.Counter):
        def start(self, folder):
            for path in folder.glob("*.json"):
                path.unlink()
            return super().start(folder)

    found = audit(StartsOver(), steps=4, kill_at=[2], phases=("after save",), twice=False)
    assert [(one.component, one.kin) for one in found.findings] == [("checkpoint", "progress lost")]
