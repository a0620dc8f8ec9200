"""The board as pages: tables that read well aloud, words beside every colour, no part that needs a mouse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from labkit.checks.registry import Exercise
from labkit.grading.page import table, text
from labkit.hub.board_state import Person
from labkit.hub.board_view import AWAY, ExerciseRow, PersonRow

REPORTED = "What stands here was reported by the checks in the labs as they ran; marks come from the grader."
SKIP = '<p><a class="skip" href="#who">Skip to learners</a></p>'
"""In front of a page of the class, outside the part that board.js replaces."""


def shell(title: str, prefix: str, who: str, body: Iterable[str], *, about: str = REPORTED) -> str:
    """A page of a service: its own style and script, both from files of labkit's."""
    you = f"You are {text(who)}. {text(about)}" if who else text(about)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{text(title)}</title>\n<link rel="stylesheet" href="{text(prefix)}static/page.css">\n'
        f'<link rel="stylesheet" href="{text(prefix)}static/board.css">\n'
        f'<script src="{text(prefix)}static/board.js" defer></script>\n</head>\n<body>\n<main>\n'
        f'<h1>{text(title)}</h1>\n<p class="faint">{you}</p>\n' + "\n".join(body) + "\n</main>\n</body>\n</html>\n"
    )


def class_body(
    labs: Sequence[str], lab: str, rows: Sequence[PersonRow], exercises: Sequence[ExerciseRow], prefix: str, of: int
) -> str:
    """The part that is kept up to date: a sentence, the exercises where somebody is stuck, every learner."""
    begun = [row for row in rows if row.minutes is not None]
    stuck = [row for row in rows if row.stuck]
    busy = sum(row.minutes is not None and row.minutes < 10 for row in rows)
    away = sum(row.minutes is not None and row.minutes >= AWAY for row in stuck)
    summary = (
        f"{len(begun)} of {len(rows)} learners have begun{f' lab {text(lab)}' if lab else ''};"
        f" {busy} had something checked in the last 10 minutes;"
        f' <a href="#who">{len(stuck)} {"is" if len(stuck) == 1 else "are"} stuck</a>'
        f"{f', {away} of them not seen for days' if away else ''}."
    )
    links = [_link(prefix, "", "All labs", lab)] + [_link(prefix, one, f"Lab {one}", lab) for one in labs]
    return "\n".join(
        [
            f'<nav aria-label="Labs"><ul>{"".join(links)}</ul></nav>',
            f'<p id="summary" role="status">{summary}</p>',
            "<h2>What holds people up</h2>",
            _exercises(exercises),
            '<h2 id="who" tabindex="-1">Who is where</h2>',
            _people(rows, prefix, of),
        ]
    )


def _link(prefix: str, lab: str, words: str, current: str) -> str:
    here = ' aria-current="page"' if lab == current else ""
    return f'<li><a href="{text(prefix)}{f"?lab={text(lab)}" if lab else ""}"{here}>{text(words)}</a></li>'


def _exercises(rows: Sequence[ExerciseRow]) -> str:
    """Those where somebody is stuck; the others folded."""
    if not rows:
        return "<p>Nobody has had an answer checked here yet.</p>"
    stuck, others = [row for row in rows if row.stuck], [row for row in rows if not row.stuck]
    parts = ["<p>Nobody is stuck.</p>"]
    if stuck:
        told = "most learners stuck first. Stuck: three attempts or more, none passed. Attempts: the median."
        parts = [_exercise_table(f"Exercises where somebody is stuck, {told}", stuck)]
    if others:
        name = "1 more exercise" if len(others) == 1 else f"{len(others)} more exercises"
        inside = _exercise_table("Exercises that somebody tried and nobody is stuck at.", others)
        words = f"{name if stuck else name.replace(' more', '')} where nobody is stuck"
        parts.append(f'<details id="others"><summary id="others-name">{words}</summary>{inside}</details>')
    return "\n".join(parts)


def _exercise_table(caption: str, rows: Sequence[ExerciseRow]) -> str:
    heads = [("Exercise", ""), ("Stuck", "number"), ("Fails at", "words"), ("Passed", "number"), ("Attempts", "number")]
    return table(
        caption,
        heads,
        (
            (
                f"<code>{text(row.exercise)}</code><br>{text(row.title)}",
                f"<strong>{row.stuck}</strong>" if row.stuck else "0",
                "<br>".join(f"{text(claim)} ({count})" for claim, count in row.failures),
                f"{row.passed} of {row.tried}",
                f"{row.attempts:g}",
            )
            for row in rows
        ),
    )


def _people(rows: Sequence[PersonRow], prefix: str, of: int) -> str:
    heads = [
        ("Learner", ""),
        ("State", "words"),
        ("When", "when"),
        ("Passed", "number"),
        ("Points", "number"),
        ("Last check", ""),
    ]
    return table(
        "Learners; those who are stuck first, who was active last on top: who was not seen for days stands lower."
        f" Passed: of {of} exercises.",
        heads,
        (
            (
                f'<a href="{text(prefix)}learner/{text(row.name)}">{text(row.name)}</a>',
                _state(row),
                "not begun" if row.minutes is None else ago(row.minutes),
                f"{row.passed}",
                f"{row.points:g}",
                f"lab {text(row.lab)}: <code>{text(row.exercise)}</code>" if row.exercise else "",
            )
            for row in rows
        ),
    )


def _state(row: PersonRow) -> str:
    if not row.stuck:
        return ""
    away = "; not seen for days" if row.minutes is not None and row.minutes >= AWAY else ""
    return f"<strong>stuck</strong> after {row.stuck} attempts: {text(row.claim)}{away}"


def ago(minutes: int) -> str:
    """ "3 min ago", "2 h ago", "4 days ago"."""
    if minutes < 1:
        return "now"
    if minutes < 120:
        return f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 48 * 60 else f"{minutes // 1440} days ago"


def learner_body(person: Person, exercises: Sequence[Exercise], now: datetime) -> str:
    """One learner's own table: every exercise that was checked."""
    known = [(one, person[one.id]) for one in exercises if one.id in person]
    if not known:
        return (
            '<p id="summary" role="status">Nothing has been checked yet. Run a lab: every check is reported here.</p>'
        )
    passed = [one for one, standing in known if standing.passed]
    points, most = sum(one.points for one in passed), sum(one.points for one in exercises)
    heads = [
        ("Exercise", ""),
        ("State", "verdict"),
        ("Attempts", "number"),
        ("When", "when"),
        ("Latest check fails at", ""),
    ]
    return (
        f'<p id="summary" role="status">{len(passed)} of {len(exercises)} exercises passed, {points:g} of {most:g}'
        " points.</p>"
        + table(
            "Exercises that were checked, in the order of the course.",
            heads,
            (
                (
                    f"<code>{text(one.id)}</code><br>{text(one.title)}",
                    "✔ passed" if standing.passed else "✘ failed" if standing.claim else "○ open",
                    f"{standing.attempts}",
                    ago(max(0, int((now - standing.at).total_seconds() // 60))),
                    text(standing.claim),
                )
                for one, standing in known
            ),
        )
    )
