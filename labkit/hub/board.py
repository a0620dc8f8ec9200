"""The board service of a classroom."""

from __future__ import annotations

from tornado.web import authenticated

from labkit.hub.service import Handler, serve


class Whose(Handler):
    """Who asks, and whether they teach."""

    service = "board"

    @authenticated
    def get(self) -> None:
        """Say it."""
        self.write({"who": self.who, "teaches": self.teaches})


if __name__ == "__main__":
    serve("board", [(r"", Whose), (r"api/whose", Whose)])
