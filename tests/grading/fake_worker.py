"""A foreman without torch: the same as labkit.grading.worker, verdicts made up from the answer's text.

An answer says what happens: `die` ends the process, `die once` too, but not the second time; `slot lost` ends the slot,
not the second time; `hang` never ends; `fault` raises in the judge; `right` passes; anything else fails.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from labkit.errors import UsageError
from labkit.grading.worker import SlotLost, main
from labkit.ranks.protocol import Channel


class Shared:
    def slot(self):
        pass

    def forget(self):
        pass


class Judge:
    def __init__(self, setting: dict, slot: None) -> None:
        if setting["unsafe"]:
            raise UsageError("this machine can't confine an answer")
        self.isolation = {"way": "made up", "closed": [], "open": ["all"]}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def judge(self, task: dict) -> dict:
        answer = "".join(task["sources"].values())
        seen = Path(os.environ["FAKE_WORKER"], f"{task['learner']}-{task['exercise']}")
        if ("die once" in answer or "slot lost" in answer) and not seen.exists():
            seen.touch()
            if "slot lost" in answer:
                raise SlotLost("the grading server has ended: grade this answer again")
            os.kill(os.getpid(), signal.SIGKILL)
        elif "once" in answer:
            pass
        elif "die" in answer:
            os.kill(os.getpid(), signal.SIGKILL)
        elif "hang" in answer:
            time.sleep(1000)
        elif "fault" in answer:
            raise RuntimeError("<b>the judge</b> raised")
        time.sleep(float(os.environ.get("FAKE_WORKER_S", "0")))
        right = "right" in answer
        evidence = {"claim": f"{task['exercise']} holds", "ok": right, "given": "f(SECRET)", "seen": "<i>7</i>"}
        evidence |= {"expected": "8", "why": "", "next_step": "look again."}
        return {
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


if __name__ == "__main__":
    main(Channel.of(int(sys.argv[1])), Shared, Judge)
