"""What the hub's services share: who asks, what they may do, one-line refusals that are logged, a clean end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from jupyterhub.services.auth import HubOAuth, HubOAuthCallbackHandler, HubOAuthenticated
from tornado.httpserver import HTTPServer
from tornado.log import app_log, enable_pretty_logging
from tornado.web import Application, HTTPError, RequestHandler

from labkit.errors import LabkitError, UsageError
from labkit.grading.page import text
from labkit.hub.board_pages import shell
from labkit.hub.classroom import Classroom

MAX_BODY = 64 * 2**20
"""Bytes of one request; a service sets its own, lower limit on top."""


UNKNOWN = "the hub doesn't know this token (any more)"


class Handler(HubOAuthenticated, RequestHandler):  # type: ignore[misc]
    """A request of somebody the hub knows, by cookie (a page) or by token (a kernel, the command line)."""

    service = ""

    @property
    def classroom(self) -> Classroom:
        """The class that this hub serves."""
        return self.settings["classroom"]  # type: ignore[no-any-return]

    @property
    def who(self) -> str:
        """The account's name. It comes from the hub, never from the request's content."""
        return str(self.current_user["name"])

    @property
    def teaches(self) -> bool:
        """Whether this person, through this token, has the service's right of a teacher."""
        return f"custom:{self.service}:teach" in self.current_user.get("scopes", ())

    def get_login_url(self) -> str:
        """Where a person logs in. A program that came with a token is told that the hub doesn't know it."""
        if "Authorization" in self.request.headers:
            self.refuse(403, UNKNOWN)
        return str(super().get_login_url())

    def need_teacher(self) -> None:
        """403, and a line in the log, for anybody else."""
        if not self.teaches:
            self.refuse(403, f"{self.who} is no teacher of this class")

    def need_self_or_teacher(self, learner: str) -> None:
        """403, and a line in the log, for another learner."""
        if learner != self.who and not self.teaches:
            self.refuse(403, f"{self.who} may not see what is {learner}'s")

    def refuse(self, status: int, why: str) -> None:
        """End the request with one line that says why; it also stands in the log."""
        app_log.warning("refused %s %s: %s", self.request.method, self.request.path, why)
        raise HTTPError(status, log_message=None, reason=why)

    def write_error(self, status_code: int, **given: Any) -> None:
        """One line: as JSON for a program, as a page for a browser."""
        error = given.get("exc_info", (None, None))[1]
        known = isinstance(error, LabkitError)
        reason = str(error) if known else self._reason
        if known:
            self.set_status(400 if isinstance(error, UsageError) else 500)
        line = " ".join(reason.split())
        if "text/html" in self.request.headers.get("Accept", ""):
            self.set_header("Content-Type", "text/html; charset=UTF-8")
            self.finish(self._error_page(line))
        else:
            self.set_header("Content-Type", "application/json")
            self.finish(json.dumps({"error": line}))

    def _error_page(self, line: str) -> str:
        """Why, and the way to one's own page on the board."""
        person = getattr(self, "_current_user", None) or {}  # never asks the hub: that may be what failed
        prefix = self.settings["prefix"]
        board = f"{prefix.rstrip('/').rpartition('/')[0]}/board/"
        title = {403: "This page isn't yours to see", 404: "There is no such page"}.get(self.get_status(), "An error")
        link = (
            "Progress of the class" if f"custom:{self.service}:teach" in person.get("scopes", ()) else "Your progress"
        )
        body = [f"<p>{text(line)}</p>", f'<p><a href="{text(board)}">{link}</a></p>']
        return shell(title, prefix, str(person.get("name", "")), body, about="")

    def log_exception(self, kind: Any, error: Any, trace: Any) -> None:
        """What a person did wrong is one line of the log; only faults of ours bring their traceback."""
        if isinstance(error, LabkitError):
            app_log.warning("refused %s %s: %s", self.request.method, self.request.path, " ".join(str(error).split()))
        elif not isinstance(error, HTTPError):
            super().log_exception(kind, error, trace)

    def set_default_headers(self) -> None:
        """Nothing from elsewhere runs in our pages, and nobody frames them."""
        self.set_header("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "same-origin")
        self.set_header("Cache-Control", "no-store")


class Missing(Handler):
    """Where a service has no page."""

    def prepare(self) -> None:
        """404."""
        self.refuse(404, f"there is no page {self.request.path[:80]}")


COMMON: dict[str, Any] = {"default_handler_class": Missing}
"""Settings of every service."""


def serve(name: str, routes: Sequence[tuple[Any, ...]], **settings: Any) -> None:
    """Serve `routes`, paths below the service's prefix, until the hub ends us. All settings are in the environment."""
    enable_pretty_logging()
    prefix = os.environ["JUPYTERHUB_SERVICE_PREFIX"]
    classroom = Classroom.load(Path(os.environ["LABKIT_CLASSROOM"]))
    rules = [(prefix + rule[0], *rule[1:]) for rule in routes]
    application = Application(
        [*rules, (f"{prefix}oauth_callback", HubOAuthCallbackHandler)],
        cookie_secret=os.urandom(32),
        classroom=classroom,
        prefix=prefix,
        **COMMON,
        **settings,
    )
    HubOAuth.instance().cache_max_age = 5  # a right that was taken away is gone after seconds
    asyncio.run(_serve(application, urlparse(os.environ["JUPYTERHUB_SERVICE_URL"]).port or 0, name))


async def _serve(application: Application, port: int, name: str) -> None:
    server = HTTPServer(application, max_body_size=MAX_BODY, max_buffer_size=MAX_BODY, xheaders=True)
    server.listen(port, os.environ.get("LABKIT_LISTEN", "127.0.0.1"))  # in a pod: 0.0.0.0, the proxy is in another
    app_log.info("%s listens on port %d", name, port)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await ended.wait()
    server.stop()
    await server.close_all_connections()
