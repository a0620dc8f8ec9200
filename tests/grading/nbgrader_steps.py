"""Run nbgrader's command line several times in this one process: its imports and its start cost 2 s each time.

Standard input: a JSON list of steps, {"cwd": directory, "env": {...}, "words": [...]}. The first that fails ends it,
unless it has "go_on": true (autograde gives up on a submission whose kernel dies).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time


def main() -> None:
    from jupyter_core.application import NoStart
    from nbgrader.apps.nbgraderapp import NbGraderApp
    from traitlets.config import Application

    begin = time.perf_counter()
    for step in json.load(sys.stdin):
        print(f"step at {time.perf_counter() - begin:.1f} s:", *step["words"], file=sys.stderr, flush=True)
        os.chdir(step["cwd"])
        os.environ.update(step["env"])
        app = NbGraderApp()
        app.initialize(step["words"])
        passed_over = (NoStart, SystemExit) if step.get("go_on") else (NoStart,)
        with contextlib.suppress(*passed_over):  # NoStart: how the outer command says that a subcommand has run
            app.start()  # exits with another status than 0 where it fails
        for one in (app, app.subapp):
            if isinstance(one, Application):
                type(one).clear_instance()


main()
