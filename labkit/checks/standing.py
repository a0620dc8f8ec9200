"""The progress view: where a learner stands in every lab, and what comes next."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from labkit.checks.result import points_of
from labkit.course.progress import Standing

Fact = tuple[str, str, str, float, int]
"""What is known of an exercise: lab ("01"), id, title, points, minutes."""

# A symbol and a word each: the colour only repeats them.
_MARKS = {
    "passed": ("✔", "#009E73"),
    "failed": ("✘", "#D55E00"),
    "not answered": ("○", "#56B4E9"),
    "not tried": ("·", "#999999"),
    "broken": ("⚠", "#CC79A7"),
}
_FAINT = "color:var(--jp-ui-font-color2,#666)"
_CELL = "padding:3px 14px 3px 0;text-align:left;vertical-align:top;background:none"
_NUMBER = "padding:3px 14px 3px 0;text-align:right;vertical-align:top;white-space:nowrap;background:none"


@dataclass(frozen=True)
class Row:
    """One exercise and how it stands.

    Attributes:
        lab: number of its lab, "01".
        exercise: its id.
        title: its heading.
        verdict: the best so far: passed, failed, not answered, broken (the check's own fault), or not tried.
        latest: the verdict of the latest check, "not tried" before the first.
        attempts: checks of an answer that was there. Many: worth a hint, or a question to somebody.
        points: points earned.
        max_points: points it is worth.
        minutes: how long it takes about.
    """

    lab: str
    exercise: str
    title: str
    verdict: str
    latest: str
    attempts: int
    points: float
    max_points: float
    minutes: int

    def words(self) -> str:
        """The verdict in words."""
        if self.verdict == "broken":
            return "check broken (not your fault)"
        changed = self.verdict == "passed" and self.latest == "failed"
        return "passed (your latest answer fails)" if changed else self.verdict


@dataclass(frozen=True)
class Progress:
    """All exercises of the course with their standing. Shown in a notebook as a card, elsewhere as text.

    Attributes:
        rows: one an exercise, in the order of the course.
        others: results kept for exercises that this labkit does not have (from another version of the course).
    """

    rows: tuple[Row, ...]
    others: int = 0

    @property
    def next(self) -> Row | None:
        """The first exercise that is not passed; None when all are."""
        return next((row for row in self.rows if row.verdict != "passed"), None)

    def advice(self) -> str:
        """What to do now, one sentence."""
        row = self.next
        if row is None:
            return "Every exercise is passed." if self.rows else "This labkit holds no exercises."
        if all(row.verdict == "not tried" for row in self.rows):
            return f"Nothing is answered yet. Begin with {row.exercise} in lab {row.lab}: open its notebook and run it."
        if row.verdict == "failed":
            return f"Next: {row.exercise} in lab {row.lab}. Its card says what was seen and what to try."
        return f"Next: {row.exercise} in lab {row.lab}, about {row.minutes} min."

    def labs(self) -> list[tuple[str, list[Row]]]:
        """The rows by lab."""
        return [(lab, list(rows)) for lab, rows in groupby(self.rows, key=lambda row: row.lab)]

    def text(self) -> str:
        """The text twin."""
        lines = [self.advice()]
        wide = max((len(row.exercise) for row in self.rows), default=0)
        for lab, rows in self.labs():
            done, of, points, most = _sums(rows)
            lines.append(f"\nLab {lab}  {_blocks(done, of)}  {done} of {of} passed, {points_of(points, most)}")
            for row in rows:
                tries = f", {row.attempts} attempt{'s' * (row.attempts != 1)}" if row.attempts else ""
                lines.append(
                    f"  {_MARKS[row.verdict][0]} {row.exercise:{wide}}  {row.words()}{tries}, "
                    f"{points_of(row.points, row.max_points)}"
                )
        if self.rows:
            done, of, points, most = _sums(self.rows)
            lines.append(f"\nAll labs: {done} of {of} passed, {points_of(points, most)}")
        return "\n".join(lines + self._about_others())

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        done, of, points, most = _sums(self.rows)
        return {
            "passed": done,
            "exercises": of,
            "points": points,
            "max_points": most,
            "next": self.next.exercise if self.next else None,
            "rows": [asdict(row) for row in self.rows],
        }

    def html(self) -> str:
        """The card, readable in JupyterLab's light and dark theme, without scripts."""
        done, of, points, most = _sums(self.rows)
        parts = [f'<p style="margin:0 0 6px"><strong>{html.escape(self.advice())}</strong></p>']
        if self.rows:
            parts.append(_bar("All labs", done, of, points, most))
        parts += [_lab(lab, rows) for lab, rows in self.labs()]
        parts += [f'<p style="{_FAINT};margin:6px 0 0">{html.escape(line)}</p>' for line in self._about_others()]
        return (
            '<section aria-label="Your progress" class="labkit-progress" style="padding:8px 14px;margin:6px 0;'
            "background:var(--jp-layout-color2,#f5f5f5);color:var(--jp-content-font-color1,#111);"
            f'font-size:14px;line-height:1.45;max-width:860px">{"".join(parts)}</section>'
        )

    def _about_others(self) -> list[str]:
        if not self.others:
            return []
        which = "1 exercise" if self.others == 1 else f"{self.others} exercises"
        return [f"Results of {which} that this version of labkit does not have are kept, but not shown."]

    def __repr__(self) -> str:
        """The text twin, so that a plain console shows it too."""
        return self.text()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}


def view(facts: Iterable[Fact], standings: Mapping[str, Standing]) -> Progress:
    """Lay what was kept over what there is.

    Args:
        facts: the exercises in the order of the course: lab, id, title, points, minutes.
        standings: by exercise id, as `ProgressStore.standings` gives them; an exercise not named is not tried.
    """
    rows = []
    for lab, exercise, title, points, minutes in facts:
        at = standings.get(exercise)
        best, latest = (at.best, at.last) if at else ("not tried", "not tried")
        known = best if best in _MARKS else "not answered"
        earned, attempts = (at.points, at.attempts) if at else (0.0, 0)
        rows.append(Row(lab, exercise, title, known, latest, attempts, earned, points, minutes))
    return Progress(tuple(rows), others=len(set(standings) - {row.exercise for row in rows}))


def _sums(rows: Iterable[Row]) -> tuple[int, int, float, float]:
    """Passed, exercises, points, points to earn."""
    rows = list(rows)
    passed = sum(row.verdict == "passed" for row in rows)
    return passed, len(rows), sum(row.points for row in rows), sum(row.max_points for row in rows)


def _blocks(done: int, of: int, width: int = 20) -> str:
    full = done * width // of
    return f"[{'#' * full}{'-' * (width - full)}]"


def _bar(name: str, done: int, of: int, points: float, most: float) -> str:
    words = f"{done} of {of} passed, {points_of(points, most)}"
    return (
        '<div style="display:inline-flex;width:calc(100% - 24px);flex-wrap:wrap;align-items:center;gap:4px 12px;'
        'margin:8px 0 2px">'
        f'<strong style="flex:0 0 72px">{html.escape(name)}</strong>'
        f'<div role="progressbar" aria-label="{html.escape(name, quote=True)}" aria-valuemin="0" aria-valuemax="{of}" '
        f'aria-valuenow="{done}" aria-valuetext="{words}" style="flex:0 1 240px;min-width:120px;height:12px;'
        'box-sizing:border-box;border:1px solid var(--jp-border-color1,#888);background:var(--jp-layout-color1,#fff)">'
        f'<div style="width:{100 * done / of:.0f}%;height:100%;background:#009E73"></div></div>'
        f"<span>{words}</span></div>"
    )


def _lab(lab: str, rows: list[Row]) -> str:
    head = "".join(
        f'<th scope="col" style="{style};font-weight:600;{_FAINT}">{name}</th>'
        for name, style in (("Exercise", _CELL), ("Verdict", _CELL), ("Attempts", _NUMBER), ("Points", _NUMBER))
    )
    body = "".join(_line(row) for row in rows)
    # A lab that somebody has begun is open; the others fold, or the whole course would stand under every lab.
    begun = " open" if any(row.verdict != "not tried" for row in rows) else ""
    return (
        f"<details{begun}><summary>{_bar(f'Lab {lab}', *_sums(rows))}</summary>"
        f'<table aria-label="Lab {html.escape(lab, quote=True)}" '
        'style="border-collapse:collapse;margin:0 0 4px;font-size:13px;color:inherit">'
        f'<thead><tr style="background:none">{head}</tr></thead><tbody>{body}</tbody></table></details>'
    )


def _line(row: Row) -> str:
    symbol, colour = _MARKS[row.verdict]
    return (
        f'<tr style="background:none"><td style="{_CELL}">{html.escape(row.title)}<br>'
        f'<code style="font-size:12px;{_FAINT};background:none;padding:0">{html.escape(row.exercise)}</code></td>'
        f'<td style="{_CELL}"><span aria-hidden="true" style="display:inline-block;min-width:1.5em;'
        f'border-left:4px solid {colour};padding-left:6px">{symbol}</span>{html.escape(row.words())}</td>'
        f'<td style="{_NUMBER}">{row.attempts}</td>'
        f'<td style="{_NUMBER}">{row.points:g} of {row.max_points:g}</td></tr>'
    )
