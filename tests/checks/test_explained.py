"""Free text is marked by its writer: nothing passes unmarked, and every mark points into the text."""

from __future__ import annotations

import pytest

from labkit.checks.explained import self_assessed

RUBRIC = {"cause": "says why", "remedy": "says what to do"}
TEXT = "The queue is empty because preparing is slower than training. " + "Two more workers keep up with it. " * 8
RIGHT = {"cause": "preparing is slower than training", "remedy": "two more\nworkers keep up"}


def failure(text, met):
    evidence = []
    for item in self_assessed({"text": text, "met": met}, RUBRIC):
        evidence.append(item)
        if not item.ok:
            return item
    assert all("marked by yourself" in item.seen for item in evidence[-2:])
    return None


def test_a_marked_text_is_recorded_as_its_writers_own():
    assert failure(TEXT, RIGHT) is None


@pytest.mark.parametrize(
    ("text", "met", "said"),
    [
        ("short", RIGHT, "at least 60 words"),
        (TEXT, {}, "a mark for each"),
        (TEXT, RIGHT | {"cause": True}, "in quotes; or False"),
        (TEXT, RIGHT | {"cause": False}, "says why"),
        (TEXT, RIGHT | {"cause": ""}, "says why"),
        (TEXT, RIGHT | {"cause": "the disk is much too slow"}, "stand in your text"),
        (TEXT, RIGHT | {"cause": "slower than training"}, "at least 4 words"),
        (TEXT, RIGHT | {"remedy": RIGHT["cause"]}, "other words for each"),
        (None, None, "at least 60 words"),
    ],
)
def test_what_does_not_pass(text, met, said):
    item = failure(text, met)
    assert item is not None
    assert said in item.expected
    assert item.next_step


def test_no_text_passes_without_marks():
    item = failure(TEXT * 10, None)
    assert item.claim == "every criterion is marked"
