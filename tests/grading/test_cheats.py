"""No attack gains a mark, learns what it must not or leaves a trace; the honest answer beside it keeps its mark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nobody
import pytest
from arena import ROOT, Arena, arena
from cheats import experiment_attacks, judge_attacks, outside_attacks, process_attacks, wire_attacks
from cheats.attack import Attack

from labkit.checks.result import Verdict

WAY = os.environ.get("LABKIT_TEST_WAY", "")
ATTACKS = [*wire_attacks.ATTACKS, *process_attacks.ATTACKS, *outside_attacks.ATTACKS]
if not WAY:  # what these try meets the same judge whatever confines them
    ATTACKS += [*judge_attacks.ATTACKS, *experiment_attacks.ATTACKS]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="the confinement is Linux's")]


@pytest.fixture(scope="module")
def place():
    with tempfile.TemporaryDirectory(prefix="labkit-canary-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        (inner := Path(folder, "canary")).mkdir()
        with arena(inner, WAY) as made:
            yield made


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name.replace(" ", "-"))
def test_an_attack_gains_nothing(attack: Attack, place: Arena):
    before = place.outside()
    result, usage = place.attack(attack)
    assert result.verdict in (Verdict.FAILED, Verdict.NOT_ANSWERED), result
    assert result.points == 0
    if place.slots.report.way not in attack.open_in:
        assert re.search(attack.said, result.evidence[-1].seen), (result.evidence[-1], usage.output)
        assert "ESCAPED" not in usage.output, usage.output
        after = place.outside()
        assert after == before
    else:
        place.calls()
    honest = place.honest()
    assert honest.verdict is Verdict.PASSED, honest.evidence[-1]


def test_there_are_enough_and_their_names_differ():
    assert len(ATTACKS) >= 40
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("way", ["user namespace", "landlock"])
def test_the_same_without_rights(way: str):
    """What depends on the confinement, as a user without rights, in a process of its own."""
    if WAY:
        pytest.skip("runs inside itself")
    if why := nobody.possible():
        pytest.skip(f"can't run as nobody: {why}")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "gains_nothing"]
    environ = {**os.environ, "LABKIT_TEST_WAY": way, "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
    environ.pop("PYTEST_XDIST_WORKER", None)
    ran = subprocess.run(nobody.command(words), cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
