"""Results sent to the class's board, where there is one. Nothing here ever stops or delays a lab.

On a hub, LABKIT_BOARD names the board and JUPYTERHUB_API_TOKEN says who we are. What the board has acknowledged is
remembered beside the progress file; whatever it missed, because it was away or we were killed, goes along next time.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path
from typing import Any

from labkit.course.progress import ProgressStore
from labkit.errors import LabkitError

AT_ONCE = 200
"""Records in one request: the board takes 500."""

PATIENCE_S = 10.0

_sending = threading.Lock()


def report(store: ProgressStore) -> threading.Thread | None:
    """Send what the board doesn't have yet, in the background; None where there is no board to report to."""
    board, token = os.environ.get("LABKIT_BOARD"), os.environ.get("JUPYTERHUB_API_TOKEN")
    if not (board and token):
        return None
    thread = threading.Thread(target=_send, args=(store, board, token), name="labkit-report", daemon=True)
    thread.start()
    return thread


def _send(store: ProgressStore, board: str, token: str) -> None:
    with _sending, contextlib.suppress(LabkitError, OSError, ValueError):
        mark = store.path.with_name(f"{store.path.name}.reported")
        records = store.records()
        done = _acknowledged(mark, board)
        done = done if done <= len(records) else 0  # the progress file was set aside and began anew
        for begin in range(done, len(records), AT_ONCE):
            part = records[begin : begin + AT_ONCE]
            _post(f"{board}api/results", token, part)
            mark.write_text(json.dumps({"board": board, "records": begin + len(part)}))


def _acknowledged(mark: Path, board: str) -> int:
    """How many of the oldest records this board has. A damaged mark costs a second sending."""
    try:
        said = json.loads(mark.read_text())
        return int(said["records"]) if said["board"] == board else 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _post(address: str, token: str, records: list[dict[str, Any]]) -> None:
    import urllib.request  # only on a hub: it takes its time to load

    headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(records).encode(), headers)
    # The board is on this machine or its network: no proxy of the environment stands between.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=PATIENCE_S) as answer:
        answer.read()
