"""A run of the line that is killed for real; a process of its own, which imports little so that it is there at once."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import asdict
from pathlib import Path

from labkit.resume.checkpoint_file import write_checkpoint
from labkit.resume.line import Line


def live(folder: str, seed: str, killed: str) -> None:
    """Train, log and save after every update, and die by SIGKILL after update `killed`. Never returns."""
    line = Line(int(seed))
    with open(Path(folder) / "log.jsonl", "w") as log:
        while True:
            log.write(json.dumps(asdict(line.advance())) + "\n")
            log.flush()
            write_checkpoint(Path(folder) / f"{line.step}.json", line.state())
            if line.step == int(killed):
                os.kill(os.getpid(), signal.SIGKILL)
