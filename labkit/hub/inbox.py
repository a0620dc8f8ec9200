"""Hand-ins of a class: a JupyterHub service. A learner hands in and reads what is their own; a teacher collects."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tornado.web import StaticFileHandler, authenticated

import labkit.grading
from labkit.grading.page import table, text
from labkit.hub.board_pages import shell
from labkit.hub.inbox_store import Inbox, Receipt, moment
from labkit.hub.service import Handler, serve


class _InboxHandler(Handler):
    service = "inbox"

    @property
    def inbox(self) -> Inbox:
        return self.settings["inbox"]  # type: ignore[no-any-return]

    def need_member(self) -> None:
        if self.who not in self.classroom.everybody:
            self.refuse(403, f"{self.who} is not in this class")


class Front(_InboxHandler):
    """A page: what was handed in, and what came back."""

    @authenticated
    def get(self) -> None:
        """A teacher sees the class, a learner what is their own."""
        self.need_member()
        prefix = self.settings["prefix"]
        shown = self.inbox.newest() if self.teaches else self.inbox.of(self.who)
        title = "Hand-ins of the class" if self.teaches else "Your hand-ins"
        body = [_hand_ins(shown, by_learner=self.teaches)] if shown else ["<p>Nothing has been handed in yet.</p>"]
        if not self.teaches:
            body += ["<h2>What came back</h2>", _feedback(prefix, self.who, self.inbox.feedback(self.who))]
        self.finish(shell(title, prefix, self.who, body, about="The newest hand-in of a notebook counts."))


def _hand_ins(receipts: Iterable[Receipt], *, by_learner: bool) -> str:
    heads = [("Learner", ""), ("Notebook", "")] if by_learner else [("Notebook", "")]
    heads += [("Number", "number"), ("Taken (UTC)", "when"), ("Bytes", "number"), ("SHA-256", "")]
    rows = (
        [*([text(one.learner)] if by_learner else []), text(one.name), f"{one.number}", text(one.at), f"{one.size}",
         f"<code>{one.sha256}</code>"]
        for one in receipts
    )  # fmt: skip
    return table("Hand-ins, with the hash of what was taken.", heads, rows)


def _feedback(prefix: str, learner: str, names: list[str]) -> str:
    if not names:
        return "<p>No report yet.</p>"
    links = (
        f'<li><a href="{text(prefix)}feedback/{text(learner)}/{text(name)}">{text(name)}</a></li>' for name in names
    )
    return f"<ul>{''.join(links)}</ul>"


class HandIn(_InboxHandler):
    """Take a notebook."""

    @authenticated
    async def post(self, name: str) -> None:
        """Keep it as that of whoever's token came along; the receipt."""
        self.need_member()
        receipt = await asyncio.to_thread(self.inbox.take, self.who, name, self.request.body)
        self.write(asdict(receipt))


class HandIns(_InboxHandler):
    """Receipts: one's own, for a teacher the newest of every learner.

    A teacher's ?until=TIME gives the last ones up to then. Teachers' own are trials: they are only counted.
    """

    @authenticated
    def get(self) -> None:
        """See the class."""
        self.need_member()
        if not self.teaches:
            self.write({"hand_ins": [asdict(one) for one in self.inbox.of(self.who)]})
            return
        until = self.get_query_argument("until", "")
        found = self.inbox.newest(moment(until) if until else None)
        kept = [asdict(one) for one in found if one.learner not in self.classroom.teachers]
        self.write({"hand_ins": kept, "of_teachers": len(found) - len(kept)})


class Content(_InboxHandler):
    """What was handed in."""

    @authenticated
    def get(self, learner: str, name: str, number: str) -> None:
        """One's own; for a teacher everybody's."""
        self.need_self_or_teacher(learner)
        wanted = [one for one in self.inbox.of(learner, name) if one.number == int(number)]
        if not wanted:
            self.refuse(404, f"{learner} has no hand-in {number} of {name[:60]}")
        self.set_header("Content-Type", "application/x-ipynb+json")
        self.set_header("Content-Disposition", "attachment")
        self.finish(self.inbox.content(wanted[0]))


class Feedback(_InboxHandler):
    """A report page, put by a teacher, read by its learner."""

    @authenticated
    async def put(self, learner: str, name: str) -> None:
        """Give it back."""
        self.need_teacher()
        if learner not in self.classroom.everybody:
            self.refuse(404, f"nobody in this class is called {learner[:40]}")
        await asyncio.to_thread(self.inbox.give_feedback, learner, name, self.request.body)
        self.write({"learner": learner, "name": name})

    @authenticated
    def get(self, learner: str, name: str) -> None:
        """Read it."""
        self.need_self_or_teacher(learner)
        page = self.inbox.feedback_page(learner, name)
        if page is None:
            self.refuse(404, f"{learner} has no report {name[:60]}")
        self.set_header(
            "Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        )
        self.finish(page)


def routes() -> list[tuple[object, ...]]:
    """Paths below the service's prefix."""
    lab = r"([0-9]{2}_[a-z0-9_]+\.ipynb)"
    return [
        (r"", Front),
        (r"api/hand-in/([^/]+)", HandIn),
        (r"api/hand-ins", HandIns),
        (rf"api/hand-ins/([^/]+)/{lab}/([0-9]+)", Content),
        (r"(?:api/)?feedback/([^/]+)/([^/]+)", Feedback),
        (r"static/(page\.css)", StaticFileHandler, {"path": str(Path(labkit.grading.__file__).parent)}),
        (r"static/(board\.(?:js|css))", StaticFileHandler, {"path": str(Path(__file__).parent)}),
    ]


def main() -> None:
    """Run the service; everything it needs is in its environment."""
    serve("inbox", routes(), inbox=Inbox(Path(os.environ["LABKIT_CLASSROOM"])))


if __name__ == "__main__":
    main()
