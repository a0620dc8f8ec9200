"""Large pages: made on demand where the kernel can, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOOK = """
from labkit.ranks.pages import make_large

def large():
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("AnonHugePages"))

held = [bytearray(b"x" * 1000) for _ in range(40_000)]
before, made = large(), make_large()
print(before, made // 1024, large(), all(one == b"x" * 1000 for one in held))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pages are asked of Linux")
def test_memory_lies_on_large_pages_afterwards():
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    before, made, after, whole = done.stdout.split()
    assert whole == "True"
    if int(made) == 0:
        pytest.skip("this kernel makes none on demand")
    assert int(made) > 30_000
    assert int(after) - int(before) > 0.8 * int(made)


def test_elsewhere_nothing_happens(monkeypatch):
    from labkit.ranks import pages

    monkeypatch.setattr(pages.sys, "platform", "darwin")
    assert pages.make_large() == 0
