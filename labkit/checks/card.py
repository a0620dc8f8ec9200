"""A result as a card: HTML for the notebook, and the same as plain text."""

from __future__ import annotations

import html
import re
from typing import Any

from labkit.checks.result import Evidence, Result, Verdict, points_of

RESULT_MIME = "application/vnd.labkit.result+json"

# Symbol and word say the verdict; the colour of the edge only repeats it.
_HEAD = {
    Verdict.PASSED: ("✔", "Passed", "#009E73"),
    Verdict.FAILED: ("✘", "Not yet", "#D55E00"),
    Verdict.NOT_ANSWERED: ("○", "Not answered yet", "#56B4E9"),
    Verdict.BROKEN: ("⚠", "The check is broken", "#CC79A7"),
}


def _rows(item: Evidence) -> list[tuple[str, str]]:
    """What a card says about the evidence that decided, in reading order."""
    rows = [
        ("Asked", item.claim),
        ("Input", item.given),
        ("Seen", item.seen),
        ("Should hold", item.expected),
        ("Meaning", item.why),
        ("Try next", item.next_step),
    ]
    return [(name, text) for name, text in rows if text]


def _points(result: Result) -> str:
    return points_of(result.points, result.max_points)


def _footer(result: Result) -> str:
    where = {"cuda": " on the GPU", "cpu": " on the CPU"}.get(result.device, "")  # nothing was computed on one
    return f"Looked at in {result.seconds:.2f} s{where}; figures of learner {result.learner}."


def text(result: Result, notices: list[str] | None = None) -> str:
    """The card as plain text."""
    symbol, word, _ = _HEAD[result.verdict]
    lines = [f"{symbol} {word}: {result.exercise} ({_points(result)})"]
    if result.verdict is Verdict.PASSED:
        lines += [f"  ✔ {_held(item)}" for item in result.evidence]
        lines.append(f"  {_footer(result)}")
    elif failure := result.failure:
        lines += [f"  {name + ':':12} {body}" for name, body in _rows(failure)]
    return "\n".join(lines + [f"  Note: {notice}" for notice in notices or []])


def _held(item: Evidence) -> str:
    detail = "; ".join(part for part in (item.given, item.seen) if part)
    return f"{item.claim} ({detail})" if detail else item.claim


def card(result: Result, notices: list[str] | None = None) -> str:
    """The card as HTML that reads well in JupyterLab's light and dark theme."""
    symbol, word, colour = _HEAD[result.verdict]
    if result.verdict is Verdict.PASSED:
        items = "".join(f"<li>{html.escape(_held(item))}</li>" for item in result.evidence)
        body = f'<ul style="margin:4px 0 4px 18px;padding:0">{items}</ul>' + _small(_footer(result))
    else:
        rows = _rows(result.failure) if result.failure else []
        body = "".join(
            f'<div style="display:flex;gap:10px;margin:3px 0"><div style="flex:0 0 88px;'
            f'color:var(--jp-ui-font-color2,#555)">{name}</div>'
            f'<div style="flex:1;white-space:pre-wrap;overflow-wrap:anywhere">{_rich(content)}</div></div>'
            for name, content in rows
        )
    notes = "".join(_small(f"Note: {notice}") for notice in notices or [])
    return (
        f'<section aria-label="{word}: {html.escape(result.exercise)}" class="labkit-card" style="border-left:6px '
        f"solid {colour};padding:8px 14px;margin:6px 0;background:var(--jp-layout-color2,#f5f5f5);"
        'color:var(--jp-content-font-color1,#111);font-size:14px;line-height:1.45;max-width:860px">'
        f'<div style="font-size:15px"><span aria-hidden="true">{symbol}</span> <strong>{word}</strong> · '
        f"<code>{html.escape(result.exercise)}</code> · {_points(result)}</div>{body}{notes}</section>"
    )


def _rich(content: str) -> str:
    """Escaped, with `code` as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(content))


def _small(line: str) -> str:
    return f'<div style="font-size:12.5px;color:var(--jp-ui-font-color2,#555)">{html.escape(line)}</div>'


def bundle(result: Result, notices: list[str] | None = None) -> dict[str, Any]:
    """All views of one result, for display in a notebook."""
    return {
        "text/html": card(result, notices),
        "text/plain": text(result, notices),
        RESULT_MIME: result.to_json(),
    }
