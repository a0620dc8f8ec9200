"""A page of HTML: whole in one file, without scripts, and everything in it escaped."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

# The page may load and run nothing, whatever a learner wrote.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(title: str, body: Iterable[str]) -> str:
    """The page; body: HTML."""
    style = Path(__file__).with_name("page.css").read_text("utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def text(content: object) -> str:
    """Escaped for a place between tags, or in a quoted attribute."""
    return html.escape(str(content), quote=True)


def rich(content: str) -> str:
    """Escaped, with `code` as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", text(content))


def breakable(name: str) -> str:
    """Escaped, and may be broken behind dots and underscores; for an exercise's id in a narrow column."""
    return re.sub(r"([._])(?=.)", r"\1<wbr>", text(name))


def items(lines: Iterable[str]) -> str:
    """A list of plain texts."""
    return "<ul>" + "".join(f"<li>{rich(line)}</li>" for line in lines) + "</ul>"


def table(caption: str, heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """A table, its caption above the box that scrolls; heads: (name, class) of each column; rows: cells of HTML, the
    first the row's name."""
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


def file_name(name: str) -> str:
    """A file's name for a learner's page: short, plain, and another one for every learner on every file system."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", name)[:60].strip("-")
    return f"{plain}.html" if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:10]}.html"


def anchor(name: str) -> str:
    """An id within a page, from an exercise's id."""
    return name.replace(".", "-")
