"""The progress view says the same in HTML, text and JSON: each verdict in words, the sums, and what comes next."""

import json
from html.parser import HTMLParser

import pytest

from labkit.checks.standing import view
from labkit.course.progress import Standing

FACTS = [
    ("00", "start.practice", "Fail once, on purpose", 1, 3),
    ("01", "pipeline.makespan", "Serial & <overlapped>", 2, 5),
    ("01", "pipeline.waits", "Who waits, and when", 2, 5),
    ("01", "pipeline.depth", "How deep must the queue be?", 3, 10),
]


def standing(exercise, best, last=None, attempts=1, points=0.0):
    return Standing(exercise, best, last or best, attempts, points, None, "2026-03-01T10:00:00+00:00")


def some():
    kept = [
        standing("start.practice", "passed", "failed", attempts=3, points=1),
        standing("pipeline.makespan", "failed", attempts=2),
        standing("pipeline.waits", "not answered", attempts=0),
        standing("gone.exercise", "passed", points=5),
    ]
    return view(FACTS, {one.exercise: one for one in kept})


class Reader(HTMLParser):
    """Collects text, tags and the progress bars; complains of tags that aren't closed in order."""

    def __init__(self, markup):
        super().__init__()
        self.words, self.open, self.seen, self.bars = "", [], [], {}
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.seen.append((tag, attrs))
        if attrs.get("role") == "progressbar":
            self.bars[attrs["aria-label"]] = attrs
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data + " "


def test_the_text_twin():
    assert (
        some().text()
        == """\
Next: pipeline.makespan in lab 01. Its card says what was seen and what to try.

Lab 00  [####################]  1 of 1 passed, 1 of 1 point
  ✔ start.practice     passed (your latest answer fails), 3 attempts, 1 of 1 point

Lab 01  [--------------------]  0 of 3 passed, 0 of 7 points
  ✘ pipeline.makespan  failed, 2 attempts, 0 of 2 points
  ○ pipeline.waits     not answered, 0 of 2 points
  · pipeline.depth     not tried, 0 of 3 points

All labs: 1 of 4 passed, 1 of 8 points
Results of 1 exercise that this version of labkit does not have are kept, but not shown."""
    )
    assert repr(some()) == some().text()


def test_the_card_says_what_the_text_says():
    bundle = some()._repr_mimebundle_()
    assert bundle["text/plain"] == some().text()
    card = Reader(bundle["text/html"])
    for word in ("passed (your latest answer fails)", "failed", "not answered", "not tried", "✔", "✘", "○", "·"):
        assert word in card.words
    assert "Next: pipeline.makespan in lab 01." in card.words
    assert "Serial & <overlapped>" in card.words, "a title is text, never markup"
    bar = card.bars["Lab 01"]
    assert (bar["aria-valuemin"], bar["aria-valuenow"], bar["aria-valuemax"]) == ("0", "0", "3")
    assert bar["aria-valuetext"] == "0 of 3 passed, 0 of 7 points"
    assert card.bars["All labs"]["aria-valuenow"] == "1"


def test_the_card_runs_and_loads_nothing_and_follows_the_theme():
    for tag, attrs in Reader(some().html()).seen:
        assert tag not in ("script", "link", "img", "iframe", "style")
        assert not any(name.startswith("on") or name in ("src", "href") for name in attrs)
    assert "var(--jp-content-font-color1,#111)" in some().html()
    assert "var(--jp-layout-color2,#f5f5f5)" in some().html()


def test_json():
    data = json.loads(json.dumps(some().to_json(), allow_nan=False))
    assert [data[name] for name in ("passed", "exercises", "points", "max_points", "next")] == [
        1, 4, 1, 8, "pipeline.makespan",
    ]  # fmt: skip
    assert data["rows"][1] == {
        "lab": "01", "exercise": "pipeline.makespan", "title": "Serial & <overlapped>", "verdict": "failed",
        "latest": "failed", "attempts": 2, "points": 0.0, "max_points": 2, "minutes": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kept", "line"),
    [
        ({}, "Nothing is answered yet. Begin with start.practice in lab 00: open its notebook and run it."),
        (
            {"start.practice": standing("start.practice", "passed")},
            "Next: pipeline.makespan in lab 01, about 5 min.",
        ),
        ({fact[1]: standing(fact[1], "passed") for fact in FACTS}, "Every exercise is passed."),
        (
            {"start.practice": standing("start.practice", "broken")},
            "Next: start.practice in lab 00, about 3 min.",
        ),
    ],
)
def test_what_comes_next(kept, line):
    found = view(FACTS, kept)
    assert found.advice() == line
    assert line in found.text()
    assert line in Reader(found.html()).words


def test_a_broken_check_is_never_blamed_on_the_learner():
    found = view(FACTS, {"start.practice": standing("start.practice", "broken")})
    assert "check broken (not your fault)" in found.text()


def test_a_verdict_that_damage_left_unreadable_is_shown_as_not_answered():
    assert view(FACTS, {"start.practice": standing("start.practice", "p\ufffdssed")}).rows[0].verdict == "not answered"


def test_a_course_without_exercises():
    assert view([], {}).text() == "This labkit holds no exercises."
    Reader(view([], {}).html())


def test_labs_that_nobody_has_begun_are_folded():
    facts = [("00", "start.practice", "Practice", 1, 2), ("01", "pipeline.waits", "Waits", 2, 6)]
    begun = {"start.practice": Standing("start.practice", "failed", "failed", 1, 0, None, "2026-01-01T00:00:00+00:00")}
    drawn = view(facts, begun).html()
    assert drawn.count("<details open>") == 1
    assert drawn.count("<details>") == 1
    assert drawn.index("<details open>") < drawn.index("<details>")
