"""The board as pages: tables that read well aloud, words beside every colour, no part that needs a mouse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from labkit.checks.registry import Exercise
from labkit.grading.page import table, text
from labkit.hub.board_state import Person
from labkit.hub.board_view import ExerciseRow, PersonRow

REPORTED = "What stands here was reported by the checks in the labs as they ran; marks come from the grader."


def shell(title: str, prefix: str, who: str, body: Iterable[str], *, about: str = REPORTED) -> str:
    """A page of a service: its own style and script, both from files of labkit's."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{text(title)}</title>\n<link rel="stylesheet" href="{text(prefix)}static/page.css">\n'
        f'<script src="{text(prefix)}static/board.js" defer></script>\n</head>\n<body>\n<main>\n'
        f'<h1>{text(title)}</h1>\n<p class="faint">You are {text(who)}. {text(about)}</p>\n'
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def class_body(
    labs: Sequence[str], lab: str, rows: Sequence[PersonRow], exercises: Sequence[ExerciseRow], prefix: str, of: int
) -> str:
    """The part that is kept up to date: a sentence, the exercises that hold people up, every learner."""
    begun = [row for row in rows if row.minutes is not None]
    stuck = [row for row in rows if row.stuck]
    busy = sum(row.minutes is not None and row.minutes < 10 for row in rows)
    summary = (
        f"{len(begun)} of {len(rows)} learners have begun; {busy} had something checked in the last 10 minutes;"
        f" {len(stuck)} {'is' if len(stuck) == 1 else 'are'} stuck."
    )
    links = [_link(prefix, "", "All labs", lab)] + [_link(prefix, one, f"Lab {one}", lab) for one in labs]
    return "\n".join(
        [
            f'<nav aria-label="Labs"><ul>{"".join(links)}</ul></nav>',
            f'<p id="summary" role="status">{text(summary)}</p>',
            "<h2>What holds people up</h2>",
            _exercises(exercises) if exercises else "<p>Nobody has had an answer checked here yet.</p>",
            "<h2>Who is where</h2>",
            _people(rows, prefix, of),
        ]
    )


def _link(prefix: str, lab: str, words: str, current: str) -> str:
    here = ' aria-current="page"' if lab == current else ""
    return f'<li><a href="{text(prefix)}{f"?lab={text(lab)}" if lab else ""}"{here}>{text(words)}</a></li>'


def _exercises(rows: Sequence[ExerciseRow]) -> str:
    heads = [("Exercise", ""), ("Passed", "number"), ("Stuck", "number"), ("Attempts", "number"), ("Fails at", "")]
    return table(
        "Exercises that somebody tried; those with most learners stuck first. Stuck: three attempts or more, none"
        " passed. Attempts: the median.",
        heads,
        (
            (
                f"<code>{text(row.exercise)}</code><br>{text(row.title)}",
                f"{row.passed} of {row.tried}",
                f"<strong>{row.stuck}</strong>" if row.stuck else "0",
                f"{row.attempts:g}",
                "<br>".join(f"{text(claim)} ({count})" for claim, count in row.failures),
            )
            for row in rows
        ),
    )


def _people(rows: Sequence[PersonRow], prefix: str, of: int) -> str:
    heads = [
        ("Learner", ""),
        ("Passed", "number"),
        ("Points", "number"),
        ("Last check", ""),
        ("When", ""),
        ("State", ""),
    ]
    return table(
        f"Learners; those who are stuck first. Passed: of {of} exercises.",
        heads,
        (
            (
                f'<a href="{text(prefix)}learner/{text(row.name)}">{text(row.name)}</a>',
                f"{row.passed}",
                f"{row.points:g}",
                f"lab {text(row.lab)}: <code>{text(row.exercise)}</code>" if row.exercise else "",
                "not begun" if row.minutes is None else ago(row.minutes),
                f"<strong>stuck</strong> after {row.stuck} attempts: {text(row.claim)}" if row.stuck else "",
            )
            for row in rows
        ),
    )


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
        ("When", ""),
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
