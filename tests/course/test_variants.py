"""Seeds are stable for ever, different wherever anything differs, and refuse names that are surely mistakes."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.course import variants
from labkit.errors import UsageError

NAMES = st.text(st.characters(min_codepoint=33, exclude_categories=["C", "Z"]), min_size=1, max_size=20)

CONTROL = "a newline or another control character: write it on one line"

# Written down once. A change here gives every learner in the middle of a lab other numbers: it must never be needed.
GOLDEN = [
    ("pipeline.makespan", "ada", variants.PUBLIC_KEY.encode(), "figures", 1589065799740758523),
    ("pipeline.makespan", "ada", variants.PUBLIC_KEY.encode(), "checks", 5696347728373498287),
    ("pipeline.makespan", "ada", b"class of 2026", "figures", 248007474224788082),
    ("pipeline.waits", "Zoë", variants.PUBLIC_KEY.encode(), "figures", 6662863163769351503),
]


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name in ("LABKIT_LEARNER", "JUPYTERHUB_USER", "LABKIT_COURSE_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("exercise", "learner", "key", "purpose", "expected"), GOLDEN)
def test_a_seed_never_changes(exercise, learner, key, purpose, expected):
    assert variants.seed(exercise, learner=learner, key=key, purpose=purpose) == expected


def test_a_teachers_key_draws_the_learners_figures_and_hides_the_inputs():
    teacher = b"teacher:0123456789abcdef"
    given = variants.learner_key(teacher)
    assert teacher not in given
    figures, inputs = (
        {variants.seed("pipeline.waits", learner="ada", key=key, purpose=purpose) for key in (teacher, given)}
        for purpose in ("figures", "inputs")
    )
    assert len(figures) == 1
    assert len(inputs) == 2
    assert variants.learner_key(given) == given
    assert variants.learner_key(b"class of 2026") == b"class of 2026"


def test_a_restart_and_another_hash_seed_change_nothing():
    code = "from labkit.course import variants; print(variants.seed('pipeline.makespan'))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "LABKIT_LEARNER": "ada", "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt in ("1", "2")
    }
    assert seen == {"1589065799740758523\n"}


@given(st.tuples(NAMES, NAMES, NAMES), st.tuples(NAMES, NAMES, NAMES))
def test_any_difference_gives_another_seed(one, other):
    seeds = [variants.seed(e, learner=who, purpose=p, key=b"k") for e, who, p in (one, other)]
    assert (seeds[0] == seeds[1]) == (one == other)
    assert 0 <= seeds[0] < 2**63


@given(NAMES, NAMES, st.integers(1, 19))
def test_where_one_name_ends_and_the_next_begins_matters(left, right, cut):
    joined = left + right
    seeds = {
        variants.seed(joined[at:], learner=joined[:at], key=b"k") for at in {len(left), cut} if 0 < at < len(joined)
    }
    assert len(seeds) == len({at for at in {len(left), cut} if 0 < at < len(joined)})


def test_seeds_are_spread_over_the_whole_range():
    seeds = [variants.seed("start.practice", learner=f"learner-{i}", key=b"k") for i in range(4000)]
    assert len(set(seeds)) == 4000
    for bit in range(63):
        ones = sum(seed >> bit & 1 for seed in seeds)
        assert 1800 < ones < 2200, f"bit {bit} is set in {ones} of 4000"  # six standard deviations


def test_who_is_learning(monkeypatch):
    monkeypatch.setenv("LOGNAME", "login")
    assert variants.learner() == "login"
    monkeypatch.setenv("JUPYTERHUB_USER", "hub-user")
    assert variants.learner() == "hub-user"
    monkeypatch.setenv("LABKIT_LEARNER", "chosen")
    assert variants.learner() == "chosen"
    assert variants.seed("a.b") == variants.seed("a.b", learner="chosen")


def test_a_user_without_a_name_still_has_figures(monkeypatch):
    monkeypatch.setattr(variants.getpass, "getuser", lambda: (_ for _ in ()).throw(KeyError("uid not found")))
    assert variants.learner() == f"user-{os.getuid()}"


def test_the_course_key_comes_from_the_environment(monkeypatch):
    assert variants.course_key() == b"labkit-public-course-key"
    monkeypatch.setenv("LABKIT_COURSE_KEY", "class of 2026")
    assert variants.seed("pipeline.makespan", learner="ada") == 248007474224788082


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"exercise": ""}, "exercise is empty: give at least one character"),
        ({"learner": ""}, "learner is empty: give at least one character"),
        ({"learner": "  "}, "learner is empty: give at least one character"),
        ({"learner": "a\nb"}, r"learner 'a\nb' holds " + CONTROL),
        ({"learner": "a\u2028b"}, r"learner 'a\u2028b' holds " + CONTROL),
        ({"learner": "x" * 257}, "learner has 257 characters: at most 256"),
        ({"learner": "\ud800"}, r"learner '\ud800' can't be written as UTF-8"),
        ({"learner": 7}, "learner is '7': it must be a string"),
        ({"purpose": "\x00"}, r"purpose '\x00' holds " + CONTROL),
        ({"key": b""}, "the course key must be 1 to 256 bytes"),
        ({"key": b"x" * 257}, "the course key must be 1 to 256 bytes"),
        ({"key": "text"}, "the course key must be 1 to 256 bytes"),
    ],
)  # fmt: skip
def test_names_that_are_mistakes(arguments, line):
    with pytest.raises(UsageError) as caught:
        variants.seed(**{"exercise": "a.b", "learner": "ada", "key": b"k", **arguments})
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("", "LABKIT_COURSE_KEY is empty: give at least one character"),
        ("my secret\n", "LABKIT_COURSE_KEY holds " + CONTROL),
        ("s" * 300, "LABKIT_COURSE_KEY has 300 characters: at most 256"),
    ],
)
def test_a_bad_key_is_named_but_never_shown(monkeypatch, key, line):
    monkeypatch.setenv("LABKIT_COURSE_KEY", key)
    with pytest.raises(UsageError) as caught:
        variants.seed("a.b", learner="ada")
    assert str(caught.value) == line
