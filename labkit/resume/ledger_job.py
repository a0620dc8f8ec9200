"""The process that `recovery_ledger` kills: trains the line, saves to a Store, says what it does as lines of JSON.

python -m labkit.resume.ledger_job STORE SAVE_EVERY STEP_SECONDS TARGET
"""

from __future__ import annotations

import json
import sys
import time

from labkit.resume.line import Line
from labkit.resume.store import Store


def say(event: str, **more: float) -> None:
    """One line to whoever watches. The clock is the machine's, the same in every process."""
    print(json.dumps({"event": event, "at": time.monotonic(), **more}), flush=True)


def main(place: str, save_every: int, step_seconds: float, target: int) -> None:
    """Go on from the newest checkpoint, or from the start, to `target`."""
    say("running")
    store = Store(f"{place}/store")
    found = store.load()
    line = Line() if found is None else Line.restore(found.state)
    say("loaded", step=line.step)
    while line.step < target:
        begin = time.monotonic()
        line.advance()
        time.sleep(max(0.0, step_seconds - (time.monotonic() - begin)))
        say("step", step=line.step, seconds=time.monotonic() - begin)
        if line.step % save_every == 0 and line.step < target:
            begin = time.monotonic()
            store.save(line.state(), line.step)
            say("save", step=line.step, seconds=time.monotonic() - begin)
    say("caught up", step=line.step)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
