"""Answers run apart: what crosses the pipe, what the limits do, and that a hole in the confinement is noticed."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from arena import KEY, ROOT, notebook, reference
from hypothesis import given
from hypothesis import strategies as st

from labkit.checks.answer import AnswerFault
from labkit.checks.plain import Unanswered, plain
from labkit.checks.result import Verdict
from labkit.course import load
from labkit.errors import UsageError
from labkit.grading.confine import LimitHit, Limits, Program, Slots, landlock, seccomp, view, wire
from labkit.grading.confine.seal import tools_of
from labkit.grading.judging import judge

linux = pytest.mark.skipif(sys.platform != "linux", reason="the confinement is Linux's")

# The wire ----------------------------------------------------------------------------------------------------------

keys = st.text() | st.integers(-(2**60) + 1, 2**60 - 1) | st.floats(allow_nan=False) | st.booleans()
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner), max_leaves=30
)


def crossed(value):
    frame = wire.pack(value)
    assert wire.frame_size(frame[: wire.HEAD.size]) == len(frame) - wire.HEAD.size
    return wire.unpack(frame[wire.HEAD.size :])


def same(a, b):
    if type(a) is not type(b):
        return False
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is dict:
        return len(a) == len(b) and all(same(x, y) and same(a[x], b[y]) for x, y in zip(a, b, strict=True))
    return a == b and repr(a) == repr(b)


@given(values)
def test_plain_data_arrives_as_it_was(value):
    assert same(crossed(value), value)
    assert same(plain(crossed(value)), plain(value))


def test_numbers_that_json_has_not():
    assert math.isnan(crossed(float("nan")))
    assert crossed([math.inf, -math.inf, -0.0]) == [math.inf, -math.inf, 0.0]
    assert math.copysign(1, crossed(-0.0)) == -1
    assert crossed(10**4000) == 10**4000
    assert crossed({1: "a", "1": "b", 1.5: "c"}) == {1: "a", "1": "b", 1.5: "c"}
    assert crossed("\ud800") == "\ud800"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[" * 100_000, "deep"),
        (b"[" * 40 + b"]" * 40, "deep"),
        (b"[" + b"[]," * 5_000_000 + b"[]]", "items"),
        (b'{"a": 1}', "neither"),
        (b'{"t": [1], "d": []}', "neither"),
        (b'{"d": [[[1], 2]]}', "key"),
        (b'{"d": [[null, 2]]}', "key"),
        (b'{"d": [[1, 2, 3]]}', "key"),
        (b'{"d": [[1152921504606846976, 2]]}', "key"),
        (b"9" * 10_000, "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"", "JSON"),
        (b"[1] [2]", "JSON"),
    ],
)
def test_what_is_no_message_is_told(body, why):
    with pytest.raises(wire.NotOnTheWire, match=why):
        wire.unpack(body)


def test_frames_have_a_limit():
    with pytest.raises(wire.NotOnTheWire, match="at most 32 MiB"):
        wire.frame_size(b"\xff\xff\xff\xff")
    with pytest.raises(wire.NotOnTheWire, match="at most 32 MiB"):
        wire.pack("x" * (33 << 20))


# What an answer sees -----------------------------------------------------------------------------------------------


def test_no_cell_of_a_lab_needs_a_module_with_right_values():
    """Such a module isn't there when answers are graded: what cells import must live in a module beside it."""
    wanted = {module.split(".")[2] for module, _ in view.imports() if module.startswith("labkit.checks.lab")}
    assert [stem for stem in sorted(wanted) if view.registers(stem)] == []


def test_right_values_are_out_of_view():
    shown = view.visible_checks()
    assert not [name for name in shown if name.startswith("lab") and view.registers(name[:-3])]
    assert {"answer.py", "plain.py", "lab07_runs.py"} <= set(shown)
    assert not {"lab01_figures.py", "lab01_pipeline_timeline.py"} & set(shown)
    assert all("tests" not in path and "notebooks" not in path for path in view.programs())


def test_tools_of_a_check_cell():
    setup = ["import copy\nfrom labkit.checks.lab07_runs import Four, stopped_and_resumed as run\nfrom x import plan"]
    tools = tools_of("check('a', run(capture, plan))", ["def capture(): ...\nplan = ..."], setup)
    assert tools == "from labkit.checks.lab07_runs import stopped_and_resumed as run"
    assert tools_of("check('a', value)", ["value = ..."], setup) == ""


# Limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"cpu_s": -1}, {"memory_mib": math.inf}, {"processes": "8"}])
def test_limits_are_checked(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Limits(**wrong)


def test_a_slot_needs_a_way():
    with pytest.raises(UsageError, match="namespaces, user namespace, landlock, none"):
        Slots(1, way="chroot")
    with pytest.raises(UsageError, match="unsafe=True"):
        Slots(1, way="none")
    with pytest.raises(UsageError, match="count"):
        Slots(0)


# Answers at work ---------------------------------------------------------------------------------------------------


def program(code: str, exercise: str = "pipeline.recurrence", number: str = "01") -> Program:
    lab = load(notebook(number))
    return Program(lab.path, exercise, {lab.exercise(exercise).answer[0]: code}, "ada")


@pytest.fixture(scope="module")
def slots():
    with Slots(1) as made:
        yield made


@linux
@pytest.mark.slow
class TestAnswers:
    def test_what_python_has_comes_back(self, slots):
        given = (1, {"a": (1, 2.5), 3: [None, True]}, float("inf"))
        with slots.answer(program("def train_times(*a): print('hello'); return a")) as answer:
            assert answer.call(*given) == given
            assert answer.call(math.nan)[0] != 0
            with pytest.raises(AnswerFault, match="a function, train_times"):
                answer.value()
        assert answer.usage.output == "hello\nhello\n"
        assert answer.usage.cpu_s > 0
        assert answer.usage.wall_s > 0

    def test_what_it_raises_is_told_with_its_line(self, slots):
        with slots.answer(program("def train_times(a):\n    return a['b']")) as answer:
            with pytest.raises(AnswerFault, match=r"KeyError: 'b' \(line 2: return a\['b'\]\)") as caught:
                answer.call({"a": 1})
            assert caught.value.given == "train_times({'a': 1})"

    def test_what_its_cell_raises_is_told(self, slots):
        with (
            slots.answer(program("x = 1\nx / 0")) as answer,
            pytest.raises(AnswerFault, match=r"ZeroDivisionError.*line 2: x / 0"),
        ):
            answer.call()
        with slots.answer(program("def train_times(:")) as answer, pytest.raises(AnswerFault, match="SyntaxError"):
            answer.call()

    @pytest.mark.parametrize("code", ["", "def train_times(*a): raise NotImplementedError", "train_times = ..."])
    def test_open_answers(self, slots, code):
        with slots.answer(program(code)) as answer, pytest.raises(Unanswered):
            answer.call([1], [1], 0)

    def test_after_a_limit_nothing_can_be_asked(self, slots):
        with slots.answer(program("def train_times(*a):\n    while True: pass"), Limits(seconds=0.4)) as answer:
            for _ in range(2):
                with pytest.raises(LimitHit, match=r"longer than 0\.4 s"):
                    answer.call(1)
        assert answer.hit.what == "time"

    def test_judging_time_is_not_the_answers(self, slots):
        with slots.answer(program("def train_times(*a): return 1"), Limits(seconds=0.5)) as answer:
            answer.call(1)
            threading.Event().wait(0.7)
            assert answer.call(1) == 1

    def test_wrong_cells_and_exercises(self, slots):
        wrong = replace(program(""), sources={"elsewhere": ""})
        with pytest.raises(UsageError, match="elsewhere"), slots.answer(wrong):
            pass
        with (
            pytest.raises(UsageError, match=r"pipeline\.nothing"),
            slots.answer(replace(wrong, exercise="pipeline.nothing")),
        ):
            pass
        assert judge(program(reference("pipeline.recurrence", "01")), slots, KEY).verdict is Verdict.PASSED

    def test_a_server_that_died_is_replaced(self, slots):
        slots._nursery._process.kill()
        slots._nursery._process.wait()
        assert judge(program(reference("pipeline.recurrence", "01")), slots, KEY).verdict is Verdict.PASSED

    def test_ranks_run_inside(self, slots):
        code = (
            "from labkit import ranks\ndef job(rank):\n    import torch, torch.distributed as d\n"
            "    t = torch.tensor([rank]); d.all_reduce(t); return t.item()\n"
            "def train_times(n): return ranks.run(job, ranks=n)"
        )
        with slots.answer(program(code), Limits(seconds=20)) as answer:
            assert answer.call(4) == [6] * 4

    def test_loader_workers_run_inside(self, slots):
        code = (
            "import torch\nfrom torch.utils.data import DataLoader\ndef train_times(n):\n"
            "    return [b.tolist() for b in DataLoader(torch.arange(n), batch_size=2, num_workers=2)]"
        )
        with slots.answer(program(code), Limits(seconds=20)) as answer:
            assert answer.call(4) == [[0, 1], [2, 3]]


# A hole is noticed -------------------------------------------------------------------------------------------------

_HOLES = {
    "seccomp": ("nursery.seccomp.program = lambda: b''", "trace a process"),
    "own root": ("place.build_root = lambda: place.sys_.mount('proc', '/proc', 'proc')", "read the judges'"),
    "privileges": ("confinement._drop = lambda way: None", "keep privileges|become root"),
    "limits": ("confinement._limit = lambda limits: None", "use more than its limits"),
    "descriptors": ("confinement.close_all_but = lambda *keep: None", "inherit descriptors"),
    "own mounts": ("confinement._own_namespaces = lambda limits: None", "put in force|leave files|see other"),
    "own network": ("place.ALL &= ~place.sys_.NEW_NET; place.sys_.NEW_NET = 0", "network|packets|services|in force"),
    "environment": ("confinement.ENVIRON['LABKIT_COURSE_KEY'] = 'x'; escapes.ENVIRON = {}", "inherit the environment"),
}


@linux
@pytest.mark.slow
@pytest.mark.parametrize("hole", sorted(_HOLES))
def test_a_server_with_a_hole_refuses_to_start(hole, monkeypatch):
    """Break the confinement piece by piece: the server finds out before the first answer runs."""
    if os.geteuid():
        pytest.skip("written for the way as root")
    broken, said = _HOLES[hole]
    from labkit.grading.confine import slots as module

    start = (
        "from labkit.grading.confine import nursery, place, confinement, escapes; nursery.warm_up = lambda _: None; "
    )
    monkeypatch.setattr(module, "_MAIN", f"{start}{broken}; {module._MAIN}")
    with pytest.raises(UsageError, match=said), Slots(1, way="namespaces"):
        pass


def test_the_filter_is_a_whole_program():
    lines = seccomp.program()
    assert len(lines) % 8 == 0
    assert 50 < len(lines) // 8 < 4096


@linux
@pytest.mark.slow
def test_the_report_says_what_this_machine_can():
    assert landlock.version() >= 0
    ran = subprocess.run(
        [sys.executable, "-c", "from labkit.grading.confine import Slots\nwith Slots(1) as s: print(s.report.text())"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "isolation: " in ran.stdout or "can confine" in ran.stderr
