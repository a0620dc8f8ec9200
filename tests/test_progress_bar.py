"""The grader's bar on a real terminal, and on one that doesn't say its size."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios

import pytest

CODE = "from labkit.cli.grading import progress_bar\nwith progress_bar() as said: [said(i, 4) for i in range(5)]"


@pytest.mark.parametrize("size", [(24, 100), (0, 0)])
def test_it_is_drawn(size):
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    subprocess.run([sys.executable, "-c", CODE], stdout=theirs, stderr=theirs, env=environ, check=True)
    os.close(theirs)
    said = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "grading:   0%" in said
    assert "4/4" in said


def test_a_file_gets_none():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stderr == done.stdout == ""
