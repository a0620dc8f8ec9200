"""How a check ends: passed, failed, not answered, broken; and what becomes of it."""

from __future__ import annotations

import json

import pytest

import labkit
from labkit.checks import card, engine, registry
from labkit.checks.answer import LocalAnswer
from labkit.checks.evidence import Fault, Rule, judged, over_inputs
from labkit.checks.result import Evidence, NotAnswered, Result, Verdict, points_of
from labkit.course.progress import ProgressStore
from labkit.errors import UsageError


@pytest.fixture
def exercise(monkeypatch):
    """A throw-away exercise `test.it` whose check is set by the test."""
    registry.exercises()
    monkeypatch.setattr(registry, "_exercises", dict(registry._exercises))

    def make(function):
        registry.exercise("test.it", lab="99", title="It", kind="build", points=2, minutes=1)(function)
        return lambda answer: engine.evaluate("test.it", LocalAnswer(answer))

    return make


def test_stops_at_the_first_failure(exercise):
    later = []

    def check(answer, context):
        yield judged("first", None)
        yield judged("second", Fault("2", "3"))
        later.append("looked on")

    result = exercise(check)(0)
    assert result.verdict is Verdict.FAILED
    assert result.points == 0
    assert [item.claim for item in result.evidence] == ["first", "second"]
    assert not later


def test_a_broken_check_never_blames_the_learner(exercise):
    def check(answer, context):
        yield judged("first", None)
        raise KeyError("a fault of ours")

    result = exercise(check)(0)
    assert result.verdict is Verdict.BROKEN
    assert "a fault of ours" in result.failure.seen
    assert "fault of labkit, not of your answer" in card.text(result)


@pytest.mark.parametrize(
    ("asks", "named", "footer"), [(False, "", " s; figures of"), (True, "cpu", " s on the CPU; figures of")]
)
def test_the_card_names_a_device_only_where_the_check_asked_for_one(exercise, monkeypatch, asks, named, footer):
    def check(answer, context):
        yield judged("held", None, held=context.device if asks else "")

    monkeypatch.setenv("LABKIT_DEVICE", "cpu")
    result = exercise(check)(0)
    assert result.device == named
    assert footer in card.text(result)


def test_one_point_is_singular():
    assert [points_of(0, 1), points_of(1, 1), points_of(2.5, 4)] == ["0 of 1 point", "1 of 1 point", "2.5 of 4 points"]


def test_a_check_that_looks_at_nothing_is_broken(exercise):
    def check(answer, context):
        yield from ()

    assert exercise(check)(0).verdict is Verdict.BROKEN


def call_once(answer, context):
    yield judged("called", None, held=str(answer.call([1], 2)))


@pytest.mark.parametrize(
    ("answer", "verdict", "said"),
    [
        (lambda a, b: a[0] + b, Verdict.PASSED, "called (3)"),
        (lambda a, b: 1 / 0, Verdict.FAILED, "ZeroDivisionError: division by zero"),
        (lambda a: 1, Verdict.FAILED, "TypeError"),
        (lambda a, b: exit(0), Verdict.FAILED, "SystemExit"),
        (lambda a, b: object(), Verdict.FAILED, "an object of type object"),
        (lambda a, b: ..., Verdict.NOT_ANSWERED, "still open"),
        (..., Verdict.NOT_ANSWERED, "still open"),
        (3, Verdict.FAILED, "3, not a function"),
    ],
)
def test_functions(exercise, answer, verdict, said):
    result = exercise(call_once)(answer)
    assert result.verdict is verdict
    assert said in card.text(result)


def test_a_stub_is_not_answered(exercise):
    def stub(a, b):
        raise NotImplementedError

    assert exercise(call_once)(stub).verdict is Verdict.NOT_ANSWERED


def test_a_function_where_a_value_belongs(exercise):
    def check(answer, context):
        yield judged("a value", None, held=str(answer.value()))

    result = exercise(check)(lambda: 3)
    assert result.verdict is Verdict.FAILED
    assert "call it" in result.failure.next_step


def test_an_answer_cannot_change_the_checks_inputs(exercise):
    def check(answer, context):
        numbers = [1, 2]
        answer.call(numbers)
        yield judged("untouched", None if numbers == [1, 2] else Fault(str(numbers), "[1, 2]"))

    assert exercise(check)(lambda numbers: numbers.clear()).verdict is Verdict.PASSED


def test_an_interrupt_is_not_swallowed(exercise):
    def interrupted(a, b):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exercise(call_once)(interrupted)


def test_smallest_input_and_named_mistake(exercise):
    def double(result, n):
        return None if result == 2 * n else Fault(str(result), "twice n")

    def check(answer, context):
        rules = [Rule("twice", double, {"that squares it.": lambda n: n * n})]
        yield from over_inputs(answer, "f", [(1,), (2,), (3,), (4,)], rules)

    squared = exercise(check)(lambda n: n * n)
    assert squared.failure.given == "f(1)"
    assert squared.failure.why == "that squares it."


def test_rules_go_before_inputs(exercise):
    """An invariant that fails on a later input is told before a value that fails on an earlier one."""

    def check(answer, context):
        rules = [
            Rule("positive", lambda r, n: None if r > 0 else Fault(str(r), "> 0")),
            Rule("twice", lambda r, n: None if r == 2 * n else Fault(str(r), "twice n")),
        ]
        yield from over_inputs(answer, "f", [(1,), (2,)], rules)

    result = exercise(check)(lambda n: 3 if n == 1 else -1)
    assert (result.failure.claim, result.failure.given) == ("positive", "f(2)")


def test_unknown_exercise_names_the_nearest():
    with pytest.raises(UsageError, match=r"unknown exercise 'pipeline.makespam': did you mean 'pipeline.makespan'\?"):
        labkit.check("pipeline.makespam", 1)
    with pytest.raises(UsageError, match=r"exercise id 3 is not text"):
        labkit.check(3, 1)


def test_record_goes_through_json():
    result = engine.evaluate("start.practice", LocalAnswer(1))
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result
    with pytest.raises(UsageError, match="not a result record"):
        Result.from_json({"exercise": "x"})


def test_check_keeps_shows_and_raises(capsys):
    with pytest.raises(NotAnswered, match=r"^start.practice: not answered"):
        labkit.check("start.practice", ...)
    assert "○ Not answered yet: start.practice" in capsys.readouterr().out
    right = labkit.variant("start.practice")
    labkit.check("start.practice", right.batches * right.train)
    assert "✔ Passed" in capsys.readouterr().out
    standing = ProgressStore().standings("ada")["start.practice"]
    assert (standing.best, standing.attempts, standing.points) == ("passed", 1, 1)


def test_progress_that_cannot_be_kept_stops_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path))
    with pytest.raises(NotAnswered):
        labkit.check("start.practice", ...)
    assert "Note: " in capsys.readouterr().out


def telling(truth):
    """The numbers in a truth that can't stand in a card by chance: not bools, not small whole ones."""
    if isinstance(truth, dict):
        return [leaf for value in truth.values() for leaf in telling(value)]
    if isinstance(truth, list | tuple):
        return [leaf for value in truth for leaf in telling(value)]
    return [truth] if type(truth) in (int, float) and (truth != int(truth) or abs(truth) >= 30) else []


def test_no_card_shows_the_solution():
    """Of the usual mistakes' cards, none holds the right value, unless the mistaken answer itself does."""
    looked_at = 0
    for exercise in registry.exercises():
        if exercise.kind != "predict" or exercise.figures is None:
            continue
        where = engine.context(exercise)
        values = telling(exercise.figures.truth(where.figures))
        for mistake in exercise.figures.mistakes(where.figures).values():
            result = engine.evaluate(exercise.id, LocalAnswer(mistake))
            if result.failure is None:
                continue
            said = card.text(result).replace(result.failure.seen, "")
            for value in values:
                if value not in telling(mistake):
                    looked_at += 1
                    assert f" {value:g} " not in said, (exercise.id, mistake, said)
    assert looked_at > 10


def test_cards_escape_what_learners_write():
    result = engine.evaluate("start.practice", LocalAnswer("<script>alert(1)</script>"))
    assert "<script>" not in card.card(result)
    assert "&lt;script&gt;" in card.card(result)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_verdict_is_said_in_words(verdict):
    item = Evidence("a claim", verdict is Verdict.PASSED, "in", "seen", "expected", "why", "next")
    result = Result("start.practice", verdict, 0, 1, (item,), "cpu", 0.1, "ada", "2026-01-01T00:00:00+00:00", "0")
    word = {
        "passed": "Passed",
        "failed": "Not yet",
        "not answered": "Not answered yet",
        "broken": "The check is broken",
    }
    assert word[verdict] in card.card(result)
    assert word[verdict] in card.text(result)


def test_one_broken_lab_does_not_take_the_others_down(monkeypatch):
    registry.exercises()
    kept = dict(registry._exercises)
    monkeypatch.setattr(registry, "_modules", lambda: ["lab00_start_here", "lab99_no_such"])
    (fault,) = registry.broken()
    assert fault.startswith("labkit.checks.lab99_no_such can't be loaded: ModuleNotFoundError: ")
    assert registry.find("start.practice").lab == "00"
    with pytest.raises(UsageError, match=r"some labs are missing: labkit\.checks\.lab99_no_such"):
        registry.find("other.thing")
    assert registry._exercises == kept


def test_exercises_come_in_the_order_of_the_labs():
    labs = [exercise.lab for exercise in registry.exercises()]
    assert labs == sorted(labs)


def test_a_librarys_not_implemented_is_no_open_answer(exercise):
    def asks_a_library(a, b):
        raise_it()

    def raise_it():
        raise NotImplementedError("not for this dtype")

    result = exercise(call_once)(asks_a_library)
    assert result.verdict is Verdict.FAILED
    assert "not for this dtype" in card.text(result)


def test_a_forgotten_return_is_named(exercise):
    def check(answer, context):
        rule = Rule("a number", lambda r, n: None if type(r) is int else Fault(repr(r), "an int", next_step="an int"))
        yield from over_inputs(answer, "f", [(1,)], [rule])

    assert "is `return` missing" in card.text(exercise(check)(lambda n: None))


def test_a_number_too_large_for_a_float_is_a_wrong_answer():
    assert engine.evaluate("start.practice", LocalAnswer(10**400)).verdict is Verdict.FAILED
