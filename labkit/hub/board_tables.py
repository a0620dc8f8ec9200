"""A table whose caption stays in sight: it stands above the box that scrolls, not in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from labkit.grading.page import text


def table(caption: str, heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """heads: (name, class) of each column; rows: cells of HTML, the first the row's name."""
    named = f"table-{hashlib.sha256(caption.encode()).hexdigest()[:8]}"
    head = "".join(f'<th scope="col" class="{kind}">{text(name)}</th>' for name, kind in heads)
    lines = []
    for first, *others in rows:
        cells = "".join(f'<td class="{heads[i + 1][1]}">{cell}</td>' for i, cell in enumerate(others))
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    body = "\n".join(lines)
    return (
        f'<p class="caption" id="{named}">{text(caption)}</p>'
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{named}"><table aria-labelledby="{named}">'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )
