"""A learner's page: what was seen, what should hold and what to try next, exercise by exercise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from labkit.checks.result import Verdict, points_of
from labkit.grading import wording
from labkit.grading.grade import Grading
from labkit.grading.marks import Mark
from labkit.grading.page import anchor, breakable, items, page, rich, table, text
from labkit.grading.submission import Submission


def report(grading: Grading, learner: str) -> str:
    """The page of one learner."""
    marks = [mark for mark in grading.marks if mark.result.learner == learner]
    given, most = sum(m.result.points for m in marks), sum(m.result.max_points for m in marks)
    body = [f"<h1>Marks of {text(learner)}</h1>"]
    if marks:
        body.append(f"<p><strong>{points_of(given, most)}</strong>{_self_assessed(marks)}</p>")
    for stem, of_lab in groupby(marks, key=lambda mark: mark.lab):
        submission = next(one for one in grading.collected.submissions if (one.learner, one.lab) == (learner, stem))
        body += _lab(grading.course.lab(stem).title or stem, submission, list(of_lab))
    ungraded = grading.collected.ungraded.get(learner, ())
    if ungraded:
        body += ["<h2>Not graded</h2>", items(ungraded)]
    body.append(_footer(marks))
    return page(f"Marks of {learner}", body)


def _self_assessed(marks: Sequence[Mark]) -> str:
    own = sum(mark.result.points for mark in marks if mark.self_assessed)
    return f", {own:g} of them self-assessed" if own else ""


def _lab(title: str, submission: Submission, marks: list[Mark]) -> Iterator[str]:
    given, most = sum(m.result.points for m in marks), sum(m.result.max_points for m in marks)
    yield f"<h2>{text(title)}</h2>"
    yield f'<p class="faint">{_origin(submission, marks)}</p>'
    if submission.notes:
        yield "<p>About this file:</p>" + items(submission.notes)
    rows = [
        (
            f'<a href="#{anchor(m.result.exercise)}">{text(m.title)}</a>',
            _verdict(m),
            points_of(m.result.points, m.result.max_points) + (" (self-assessed)" if m.self_assessed else ""),
        )
        for m in marks
    ]
    heads = (("Exercise", ""), ("Verdict", "verdict"), ("Points", ""))
    yield table(f"{points_of(given, most)} in this lab{_self_assessed(marks)}", heads, rows)
    yield from (_card(mark, submission.notes) for mark in marks)


def _origin(submission: Submission, marks: Sequence[Mark]) -> str:
    """From which file, handed in when and graded when: enough to match the page with a receipt."""
    parts = [f"From <code>{text(submission.file)}</code>"]
    if submission.timestamp:
        parts.append(f"handed in {text(submission.timestamp)}")
    if submission.sha256:
        parts.append(f"SHA-256 begins with <code>{submission.sha256[:12]}</code>")
    graded = max((mark.result.at for mark in marks), default="")
    return f"{', '.join(parts)}. Graded {text(_utc(graded))}."


def _utc(at: str) -> str:
    """A mark's time to the minute: 2026-03-02 10:11 UTC."""
    try:
        when = datetime.fromisoformat(at)
    except ValueError:
        return at
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    return f"{when:%Y-%m-%d %H:%M} UTC"


def _verdict(mark: Mark) -> str:
    symbol, word = wording.HEADS[mark.result.verdict]
    return f'<span aria-hidden="true">{symbol}</span> {word}'


def _card(mark: Mark, notes: Sequence[str]) -> str:
    """One exercise. notes: what the page says of the whole file already; it isn't repeated here."""
    result = mark.result
    kind = str(result.verdict).replace(" ", "-")
    said = "".join(f"<dt>{name}</dt><dd>{rich(line)}</dd>" for name, line in wording.rows(mark))
    body = [f"<dl>{said}</dl>"] if said else []
    if result.verdict is Verdict.NOT_ANSWERED and result.failure and result.failure.seen in notes:
        body = ["<p>The file could not be read: see “About this file” above.</p>"]
    if result.verdict is Verdict.PASSED:
        held = f"What held ({len(result.evidence)})"
        body.append(f"<details><summary>{held}</summary>{items(item.claim for item in result.evidence)}</details>")
    if mark.self_assessed and result.verdict is not Verdict.NOT_ANSWERED:
        body.append(f'<p class="faint">{wording.SELF_ASSESSED}</p>')
    if unusual := wording.reasons(mark):
        body.append("<p>About your answer:</p>" + items(unusual))
    name = anchor(result.exercise)
    points = points_of(result.points, result.max_points)
    return (
        f'<section class="card {kind}" id="{name}" aria-labelledby="{name}-title">'
        f'<h3 id="{name}-title">{text(mark.title)}</h3>'
        f'<div><strong class="verdict">{_verdict(mark)}</strong> · {points} · '
        f'<code class="faint id">{breakable(result.exercise)}</code></div>{"".join(body)}</section>'
    )


def _footer(marks: Sequence[Mark]) -> str:
    versions = ", ".join(sorted({mark.result.version for mark in marks})) or "none"
    said = [f"Judged by labkit {text(versions)}, with figures and inputs drawn for you."]
    if any(mark.isolation == "none" for mark in marks):
        said.append("Nothing kept the answers apart from the grader (--unsafe): these marks prove nothing.")
    return f'<p class="faint">{" ".join(said)}</p>'
