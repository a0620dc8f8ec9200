"""A grading process without torch: the same lines as labkit.grading.worker, verdicts made up from the answer's text.

An answer says what happens: `die` ends the process, `die once` too, but not the second time; `hang` never ends;
`right` passes; anything else fails.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path


def main() -> None:
    setting = json.loads(sys.stdin.readline())
    if setting["unsafe"]:
        print(json.dumps({"refused": "this machine can't confine an answer"}), flush=True)
        return
    print(json.dumps({"isolation": {"way": "made up", "closed": [], "open": ["all"]}}), flush=True)
    for line in sys.stdin:
        print(json.dumps(verdict(json.loads(line))), flush=True)


def verdict(task: dict) -> dict:
    answer = "".join(task["sources"].values())
    if "die once" in answer:
        seen = Path(os.environ["FAKE_WORKER"], f"{task['learner']}-{task['exercise']}")
        if not seen.exists():
            seen.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    elif "die" in answer:
        os.kill(os.getpid(), signal.SIGKILL)
    elif "hang" in answer:
        time.sleep(1000)
    elif "fault" in answer:
        return {"fault": "Traceback: <b>the judge</b> raised"}
    time.sleep(float(os.environ.get("FAKE_WORKER_S", "0")))
    right = "right" in answer
    evidence = {"claim": f"{task['exercise']} holds", "ok": right, "given": "f(SECRET)", "seen": "<i>7</i>"}
    evidence |= {"expected": "8", "why": "", "next_step": "look again."}
    return {
        "result": {
            "exercise": task["exercise"],
            "verdict": "passed" if right else "failed",
            "points": 2 if right else 0,
            "max_points": 2,
            "evidence": [evidence],
            "device": "cpu",
            "seconds": 0.01,
            "learner": task["learner"],
            "at": "2026-01-01T00:00:00+00:00",
            "version": "0",
        }
    }


if __name__ == "__main__":
    main()
