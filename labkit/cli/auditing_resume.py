"""The command that kills and resumes one's own training code."""

from __future__ import annotations

from typing import Annotated

import typer

from labkit.cli import FAULT
from labkit.cli.objects import find
from labkit.cli.options import Json, Png, app, say, whole
from labkit.errors import UsageError


@app.command()
def audit_resume(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PKG.MODULE:PROGRAM",
            help="An object or class with start(folder), step(state), save(state, folder), or a function of run.",
        ),
    ],
    steps: Annotated[int, typer.Option(parser=whole, metavar="N", help="Steps of the uninterrupted run.")],
    ranks: Annotated[int, typer.Option(parser=whole, metavar="N", help="How many real ranks.")] = 1,
    kill_at: Annotated[str, typer.Option(metavar="every|N,N", help="Steps in which to kill.")] = "every",
    save_every: Annotated[int, typer.Option(parser=whole, metavar="N", help="Steps between saves.")] = 1,
    twice: Annotated[bool, typer.Option("--twice/--once", help="Also kill the resumed run.")] = True,
    damage: Annotated[bool, typer.Option("--damage", help="Also flip a byte of the newest checkpoint.")] = False,
    contract: Annotated[str, typer.Option(help="bitwise or sample-exact.")] = "bitwise",
    timeout: Annotated[int, typer.Option(parser=whole, metavar="S", help="Seconds for one process.")] = 30,
    png: Png = None,
    as_json: Json = False,
) -> int:
    """Kill and resume your training code at every step and phase. Exit 1 where the contract is broken."""
    from labkit.resume import ALL_PHASES, PHASES, audit

    if contract not in ("bitwise", "sample-exact"):
        raise UsageError(f"--contract is {contract!r}: give bitwise or sample-exact")
    found = audit(
        find("program", program),
        steps=steps,
        kill_at="every" if kill_at == "every" else [whole(part) for part in kill_at.split(",")],
        ranks=ranks,
        phases=ALL_PHASES if damage else PHASES,
        twice=twice,
        save_every=save_every,
        contract=contract,
        timeout=timeout,
    )
    say(found, as_json, png)
    return 0 if found.kept else FAULT
