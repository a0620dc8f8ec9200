"""A service of the hub, served without one: who asks is said by the request itself."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import Application

from labkit.hub import service
from labkit.hub.classroom import Classroom


def who(handler):
    """A program says it by its token, a browser by X-Who; tess teaches."""
    asked = handler.request.headers
    name = asked.get("X-Who") or asked["Authorization"].removeprefix("token ")
    return {"name": name, "scopes": [f"custom:{handler.service}:teach"] if name == "tess" else []}


@contextlib.contextmanager
def served(name: str, rules: list, place: Path, learners: tuple[str, ...], **settings) -> Iterator[str]:
    """The service's address; tess is the teacher."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service.Handler, "get_current_user", who)
        classroom = Classroom(Path(place), learners, ("tess",))
        prefix = f"/{name}/"
        below = [(prefix + rule[0], *rule[1:]) for rule in rules]
        (listening,) = bind_sockets(0, "127.0.0.1")
        running, loops = threading.Event(), []

        def run():
            async def begin():
                app = Application(
                    below, classroom=classroom, prefix=prefix, cookie_secret="x", **{**service.COMMON, **settings}
                )
                HTTPServer(app).add_socket(listening)
                running.set()

            loop = IOLoop(make_current=False)
            loops.append(loop)
            loop.add_callback(begin)
            loop.start()
            loop.close(all_fds=True)

        thread = threading.Thread(target=run)
        thread.start()
        running.wait(10)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}{prefix}"
        finally:
            loops[0].add_callback(loops[0].stop)
            thread.join(10)
