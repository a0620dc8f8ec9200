"""What a learner may read of a mark: never a solution, never one of the grader's own inputs.

The record holds more: the input that showed a fault, and the traceback of a broken check. Those stay with the course.
"""

from __future__ import annotations

from labkit.checks.result import Evidence, Verdict
from labkit.grading.marks import Mark

LONGEST = 300  # characters of one line about an answer; an answer can say anything about itself

# A symbol and a word each: the colour only repeats them.
HEADS = {
    Verdict.PASSED: ("✔", "Passed"),
    Verdict.FAILED: ("✘", "Not passed"),
    Verdict.NOT_ANSWERED: ("○", "Not answered"),
    Verdict.BROKEN: ("⚠", "Not judged"),
}

SELF_ASSESSED = (
    "Self-assessed: the check looked at the form of your text only. These points rest on your own word, "
    "and your instructor may read the text and decide otherwise."
)
BROKEN = "The grader failed here, not your answer. Your instructor knows of it and can grade it again."


def rows(mark: Mark) -> list[tuple[str, str]]:
    """What is said about the evidence that decided, in reading order: (name, text). Nothing of a passed mark."""
    item = mark.result.failure
    if mark.result.verdict is Verdict.BROKEN:
        return [("What happened", BROKEN)]
    if mark.result.verdict is Verdict.PASSED or item is None:
        return []
    if mark.result.verdict is Verdict.NOT_ANSWERED:
        return [("Seen", shortened(item.seen)), ("Try next", item.next_step)]
    named = [
        ("Asked", item.claim),
        ("Seen", item.seen),
        ("Should hold", item.expected),
        ("Meaning", item.why),
        ("Try next", _next(item)),
    ]
    return [(name, shortened(text)) for name, text in named if text]


def _next(item: Evidence) -> str:
    if not item.given:
        return item.next_step
    return f"{item.next_step} The grader's input is not shown; the check in your notebook shows one of yours.".strip()


def reasons(mark: Mark) -> list[str]:
    """What was unusual about the answer, without what `rows` says already."""
    said = mark.result.failure.seen if mark.result.failure else ""
    return [shortened(reason) for reason in mark.reasons if reason != said]


def shortened(text: str) -> str:
    """A text of at most LONGEST characters."""
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def plain(mark: Mark) -> str:
    """The mark as lines of text."""
    said = [f"{name}: {text}" for name, text in rows(mark)]
    return "\n".join([*said, *(f"Note: {reason}" for reason in reasons(mark))])
