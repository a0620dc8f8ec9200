"""Ranks without a fork server: this process supervises, and starts every rank by exec. Seconds instead of a tenth."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

from labkit.ranks.child import Place
from labkit.ranks.protocol import Channel
from labkit.ranks.supervisor import supervise


def start(place: Place) -> int:
    """A rank in a new interpreter; the descriptors it needs go along."""
    words = [str(getattr(place, field.name)) for field in dataclasses.fields(place)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "labkit.ranks.child", *words],
        pass_fds=[place.jobs, place.output, place.dump, place.board, place.listen],
    )
    process.returncode = 0  # the supervisor waits for it, Popen must not
    return process.pid


if __name__ == "__main__":
    fd, ranks, backend, folder = sys.argv[1:]
    supervise(Channel.of(int(fd)), int(ranks), backend, start, folder, None)
