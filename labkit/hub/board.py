"""The progress board of a class: a JupyterHub service.

Kernels report result records with their learner's own token; teachers see the class, a learner only what is their own.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tornado.web import StaticFileHandler, authenticated

import labkit.grading
from labkit.checks.registry import Exercise, exercises
from labkit.errors import UsageError
from labkit.hub import board_pages, board_view
from labkit.hub.board_state import MOST, Board
from labkit.hub.service import Handler, serve


class _BoardHandler(Handler):
    service = "board"

    @property
    def board(self) -> Board:
        return self.settings["board"]  # type: ignore[no-any-return]

    def wanted(self) -> tuple[str, list[Exercise]]:
        """The lab asked for ("" for all) and its exercises."""
        lab = self.get_query_argument("lab", "")
        chosen = [one for one in exercises() if lab in ("", one.lab)]
        if not chosen:
            self.refuse(404, f"there is no lab {lab[:20]!r}")
        return lab, chosen

    def fragment(self, source: str, body: str) -> str:
        """The part of a page that board.js keeps up to date."""
        key = self.xsrf_token.decode()  # JupyterHub takes a script's cookie only with it
        return (
            f'<p id="connection" role="status"></p><div id="live" data-source="{source}" data-key="{key}"'
            f' data-version="{self.board.version}">{body}</div>'
        )

    def changed(self) -> bool:
        """False, and an empty answer, where the page shows this version already (and is not a minute old)."""
        version = f"{self.board.version}.{int(datetime.now(UTC).timestamp() // 60)}"
        self.set_header("X-Shown", version)
        if self.request.headers.get("X-Shown") == version:
            self.set_status(204)
            return False
        return True


class Front(_BoardHandler):
    """A teacher's page of the class; a learner's own page."""

    @authenticated
    def get(self) -> None:
        """See the class."""
        prefix = self.settings["prefix"]
        if self.teaches:
            lab, chosen = self.wanted()
            body = _class_body(self.classroom.learners, self.board, lab, chosen, prefix)
            page = self.fragment(f"{prefix}part{f'?lab={lab}' if lab else ''}", body)
            title = f"Progress of the class{f': lab {lab}' if lab else ''}"
            self.finish(board_pages.shell(title, prefix, self.who, [board_pages.SKIP, page]))
        else:
            self.finish(_own_page(self, self.who))


class Part(_BoardHandler):
    """What changes on a teacher's page."""

    @authenticated
    def get(self) -> None:
        """See the class."""
        self.need_teacher()
        lab, chosen = self.wanted()
        if self.changed():
            self.finish(_class_body(self.classroom.learners, self.board, lab, chosen, self.settings["prefix"]))


class Learner(_BoardHandler):
    """One learner's page, or the part of it that changes."""

    @authenticated
    def get(self, part: str, name: str) -> None:
        """See the class."""
        self.need_self_or_teacher(name)
        if name not in self.classroom.everybody:
            self.refuse(404, f"nobody in this class is called {name[:40]}")
        if not part:
            self.finish(_own_page(self, name))
        elif self.changed():
            self.finish(_own_body(self.board, name))


class Results(_BoardHandler):
    """Where kernels report to."""

    @authenticated
    async def post(self) -> None:
        """Keep the records, as those of whoever's token came along."""
        if self.who not in self.classroom.everybody:
            self.refuse(403, f"{self.who} is not in this class")
        try:
            records = json.loads(self.request.body)
        except (ValueError, RecursionError):
            raise UsageError("the body is not JSON: send a list of result records") from None
        if not isinstance(records, list) or len(records) > MOST:
            raise UsageError(f"the body must be a list of at most {MOST} result records")
        fresh = await asyncio.to_thread(self.board.take, self.who, records)
        self.write({"kept": len(records), "new": fresh})

    @authenticated
    def get(self) -> None:
        """The class as JSON, for a teacher; for a learner what is their own."""
        _, chosen = self.wanted()
        now, known = datetime.now(UTC), self.board.people()
        names = self.classroom.learners if self.teaches else (self.who,)
        rows = board_view.people(names, known, chosen, now)
        found: dict[str, Any] = {"learners": [asdict(row) for row in rows]}
        if self.teaches:
            found["exercises"] = [asdict(row) for row in board_view.exercise_rows(known, chosen)]
        self.write(found)


def _class_body(names: tuple[str, ...], board: Board, lab: str, chosen: list[Exercise], prefix: str) -> str:
    everybody = board.people()
    known = {name: everybody[name] for name in names if name in everybody}
    rows = board_view.people(names, known, chosen, datetime.now(UTC))
    labs = sorted({one.lab for one in exercises()})
    return board_pages.class_body(labs, lab, rows, board_view.exercise_rows(known, chosen), prefix, len(chosen))


def _own_page(handler: _BoardHandler, name: str) -> str:
    prefix = handler.settings["prefix"]
    title = "Your progress" if name == handler.who else f"Progress of {name}"
    back = [f'<p><a href="{prefix}">The class</a></p>'] if handler.teaches else []
    page = handler.fragment(f"{prefix}part/learner/{name}", _own_body(handler.board, name))
    return board_pages.shell(title, prefix, handler.who, [*back, page])


def _own_body(board: Board, name: str) -> str:
    return board_pages.learner_body(board.people().get(name, {}), exercises(), datetime.now(UTC))


def routes() -> list[tuple[Any, ...]]:
    """Paths below the service's prefix."""
    style = Path(labkit.grading.__file__).parent
    return [
        (r"", Front),
        (r"part", Part),
        (r"(part/|)learner/([^/]+)", Learner),
        (r"api/results", Results),
        (r"static/(page\.css)", StaticFileHandler, {"path": str(style)}),
        (r"static/(board\.(?:js|css))", StaticFileHandler, {"path": str(Path(__file__).parent)}),
    ]


def main() -> None:
    """Run the service; everything it needs is in its environment."""
    serve("board", routes(), board=Board(Path(os.environ["LABKIT_CLASSROOM"])))


if __name__ == "__main__":
    main()
