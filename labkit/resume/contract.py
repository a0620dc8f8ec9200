"""The contract a run declares: bitwise, sample-exact or statistical. It is lowered explicitly, never by itself."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.resume.contract_tost import Equivalence, margin_from, tost
from labkit.resume.kill import AFTER_SAVE, Kill
from labkit.resume.programs import Life, read_notes

if TYPE_CHECKING:
    from labkit.resume.auditing_report import ResumeReport

CONTRACTS = {
    "bitwise": "every value of the state is equal to the last bit at every step",
    "sample-exact": "the same samples in the same steps, generators included; floats may differ by rounding",
    "statistical": "a final measure over seeds is equivalent to that of uninterrupted runs, by TOST",
}
"""Contract -> what it promises, from the strongest to the weakest."""


@dataclass(frozen=True)
class Statistical:
    """The weakest contract: a final measure, over seeds, equivalent by TOST.

    The program must start from a seed it is given: `run.seed`, or for an object an attribute `seed`, which is set
    before start(folder). It must return the measure from its steps: step(state) -> {"loss": ...}.

    Attributes:
        margin: the largest difference of means that doesn't matter, in the measure's unit; None: the least that these
            runs can test, calibrated on the uninterrupted ones (`margin_from`). Better declared beforehand.
        measure: what the last step returns under this name.
        runs: seeds a side; uninterrupted runs use other seeds than resumed ones.
        alpha: error of calling runs equivalent that differ by the margin.
        kill_at: the step whose save is followed by the kill; None: half way.
    """

    margin: float | None = None
    measure: str = "loss"
    runs: int = 10
    alpha: float = 0.05
    kill_at: int | None = None


def name_of(contract: Any) -> str:
    """The contract's word.

    Raises:
        UsageError: it isn't a contract.
    """
    if isinstance(contract, Statistical):
        whole("runs", contract.runs, 2)
        return "statistical"
    if contract == "statistical":
        raise UsageError('contract is "statistical": give Statistical(margin=...), which says what may differ')
    if contract not in CONTRACTS:
        raise UsageError(f"contract is {contract!r}: give bitwise, sample-exact or Statistical(margin=...)")
    return str(contract)


def statistical(
    program: Any,
    contract: Statistical,
    steps: int,
    ranks: int,
    save_every: int,
    place: Path,
    timeout: float,
    began: float,
) -> ResumeReport:
    """Run uninterrupted and resumed twins over seeds, and test their final measures for equivalence."""
    from labkit.resume.auditing_lives import run_lives
    from labkit.resume.auditing_report import ResumeFinding, ResumeReport

    half = contract.kill_at if contract.kill_at is not None else max(steps // 2 // save_every, 1) * save_every
    if not 0 < half < steps or half % save_every:
        raise UsageError(f"kill_at is {half}: give a step from 1 to {steps - 1} after which a save is made")
    kill = Kill(half, AFTER_SAVE)

    def life(name: str, seed: int, cut: Kill | None, number: int) -> Life:
        notes = str(place / f"{name}-{seed}.notes-{number}")
        return Life(str(place / f"{name}-{seed}"), notes, steps, save_every, cut, seed, True)

    straight = [[life("straight", seed, None, 0)] for seed in range(contract.runs)]
    resumed = [
        [life("resumed", seed, kill, 0), life("resumed", seed, None, 1)]
        for seed in range(contract.runs, 2 * contract.runs)
    ]
    chains = straight + resumed
    ends = run_lives(program, chains, ranks=ranks, timeout=timeout)
    failed = [(chain, end) for chain, end in zip(chains, ends, strict=True) if end[-1] != "ended"]
    found: Equivalence | None = None
    findings: list[ResumeFinding] = []
    if failed:
        chain, end = failed[0]
        said = f"a run from seed {chain[0].seed} {end[-1]} in its process {len(end)}"
        findings.append(ResumeFinding("program", said, "", 0, half, "ended", end[-1], "", (kill,), len(failed), False))
    else:
        a, b = ([_final(c[-1], contract.measure, steps) for c in side] for side in (straight, resumed))
        margin = contract.margin or margin_from(a, runs=contract.runs, alpha=contract.alpha)
        found = tost(a, b, margin=margin, alpha=contract.alpha)
        if not found.equivalent:
            said = f"{contract.measure} of resumed runs is {found.text()}"
            findings.append(
                ResumeFinding(
                    contract.measure, said, contract.measure, 0, steps, f"within {margin:.3g}",
                    f"{found.difference:.3g}", "", (kill,), contract.runs, False,
                )
            )  # fmt: skip
    kept = not findings
    return ResumeReport(
        "statistical", kept, "statistical" if kept else "none", tuple(findings), (), (), found, ranks, steps,
        sum(map(len, ends)), (), time.perf_counter() - began,
    )  # fmt: skip


def _final(life: Life, measure: str, steps: int) -> float:
    last = [n for n in read_notes(life.notes, 0) if n["kind"] == "step" and n["step"] == steps]
    leaf = last[-1]["outcome"].get(measure) if last else None
    if leaf is None or leaf.sketch is None:
        raise UsageError(f'the program returns no finite {measure!r} from its last step: return {{"{measure}": ...}}')
    return float(leaf.sketch[1])
