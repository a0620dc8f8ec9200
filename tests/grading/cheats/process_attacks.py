"""Attacks that end, block, multiply or flood."""

from __future__ import annotations

from cheats.attack import WRONG, Attack

SHORT = {"seconds": 0.7}


def harm(name: str, code: str, said: str = "", **more) -> Attack:
    return Attack(name, "harm", code, said=said, **more)


ATTACKS = [
    harm("sys.exit", "import sys\nsys.exit(0)\n", "SystemExit"),
    harm("os._exit(0)", "import os\nos._exit(0)\n", "ended by itself"),
    harm(
        "os._exit in the answer's function",
        "import os\ndef train_times(*a): os._exit(0)\n",
        "ended by itself",
        exercise="pipeline.recurrence",
    ),
    harm("SIGKILL to itself", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n" + WRONG),
    harm(
        "SIGKILL to its parent",
        "import os, signal\ntry: os.kill(os.getppid(), signal.SIGKILL)\nexcept OSError: pass\n" + WRONG,
    ),
    harm("SIGKILL to everybody", "import os, signal\ntry: os.kill(-1, signal.SIGKILL)\nexcept OSError: pass\n" + WRONG),
    harm(
        "SIGKILL to the judge",
        "import os, signal\ntry:\n    os.kill(@JUDGE@, 9); print('ESCAPED')\nexcept OSError: pass\n" + WRONG,
    ),
    harm(
        "SIGKILL to every number",
        "import os, signal\nfor pid in range(2, 40_000):\n    if pid != os.getpid():\n        try: os.kill(pid, 9)\n        except OSError: pass\n"
        + WRONG,
    ),
    harm(
        "stops itself",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nimport time; time.sleep(60)\n",
        "longer than|ended",
        limits=SHORT,
    ),
    harm("an endless loop", "while True: pass\n", "longer than", limits=SHORT),
    harm(
        "an endless loop with all signals ignored",
        "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass\n",
        "longer than",
        limits=SHORT,
    ),
    harm("sleeps in C for ever", "import ctypes\nctypes.CDLL(None).pause()\n", "longer than", limits=SHORT),
    harm("a power that never ends", "x = 9 ** 9 ** 9\n", "longer than|Memory|memory", limits=SHORT),
    harm(
        "hangs at the second question",
        "n = []\ndef train_times(prepare, train, depth):\n    n.append(1)\n    while len(n) > 0: pass\n",
        "longer than",
        limits=SHORT,
        exercise="pipeline.recurrence",
    ),
    harm(
        "hangs in a destructor",
        "class D:\n    def __del__(self):\n        while True: pass\nD()\n",
        "longer than",
        limits=SHORT,
    ),
    harm("atexit that hangs", "import atexit, time\natexit.register(time.sleep, 60)\n" + WRONG),
    harm(
        "threads that go on",
        "import threading\ndef spin():\n    while True: pass\nfor _ in range(4): threading.Thread(target=spin, daemon=True).start()\n"
        + WRONG,
    ),
    harm(
        "too much processor time, in children",
        "import os, time\nfor _ in range(3):\n    if os.fork() == 0:\n        while True: pass\ntime.sleep(60)\n",
        "processor time",
        limits={"seconds": 30, "cpu_s": 0.5},
    ),
    harm(
        "a memory bomb",
        "x = []\nwhile True: x.append(bytearray(1 << 24))\n",
        "Memory|memory",
        limits={"memory_mib": 256},
    ),
    harm(
        "memory in many processes",
        "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        x = bytearray(60 << 20); time.sleep(60)\ntime.sleep(60)\n",
        "memory",
        limits={"memory_mib": 200, "seconds": 20},
    ),
    harm(
        "memory as shared mappings",
        "import mmap, time\nx = mmap.mmap(-1, 400 << 20)\nfor i in range(0, 400 << 20, 4096): x[i] = 1\ntime.sleep(30)\n",
        "memory|Memory|longer",
        limits={"memory_mib": 200, "seconds": 3},
    ),
    harm(
        "a fork bomb",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
        "processes|longer|memory",
        limits={"processes": 30, "seconds": 2},
    ),
    harm(
        "a thread bomb",
        "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
        "thread|processes|longer",
        limits={"processes": 50, "seconds": 2},
    ),
    harm(
        "fills the disk",
        "import tempfile\nwith open(tempfile.mkdtemp() + '/full', 'wb') as f:\n    while True: f.write(bytes(1 << 20))\n",
        "OSError",
        limits={"files_mib": 8},
    ),
    harm(
        "many small files on the disk",
        "import tempfile\nd = tempfile.mkdtemp()\nfor i in range(30_000): open(f'{d}/{i}', 'w').close()\n",
        "OSError|longer",
        limits={"seconds": 4},
        open_in=("landlock",),
    ),
    harm(
        "many files that fill shared memory",
        "for i in range(64):\n    with open(f'/dev/shm/@SHM@{i}', 'wb') as f: f.write(bytes(1 << 20))\n",
        "OSError",
        limits={"files_mib": 8},
        open_in=("landlock",),
    ),
    harm("floods its output", "while True: print('x' * 100_000)\n", "printed more", limits={"output_kib": 512}),
    harm(
        "floods its output from a child",
        "import os, time\nif os.fork() == 0:\n    while True: os.write(1, b'x' * 65536)\ntime.sleep(60)\n",
        "printed more|longer",
        limits={"output_kib": 512, "seconds": 3},
    ),
    harm(
        "a daemon that outlives it",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True: time.sleep(0.01)\n    os._exit(0)\n"
        + WRONG,
    ),
    harm(
        "a daemon with its own session, signals ignored, that rewrites results",
        """
import os, time, signal
if os.fork() == 0:
    os.setsid()
    for n in range(1, 65):
        try: signal.signal(n, signal.SIG_IGN)
        except (OSError, ValueError): pass
    while True:
        time.sleep(0.02)
        for name in ('gradebook.json', 'other/submission.ipynb'):
            try: open(f'@CANARY@/{name}', 'a').write('x')
            except OSError: pass
"""
        + WRONG,
    ),
    harm("a segmentation fault", "import ctypes\nctypes.string_at(0)\n", "signal 11|ended"),
    harm("os.abort", "import os\nos.abort()\n", "ended"),
    harm(
        "raises its own limits",
        "import resource\ntry:\n    resource.setrlimit(resource.RLIMIT_DATA, (1 << 40, 1 << 40)); print('ESCAPED')\nexcept (OSError, ValueError): pass\n"
        + WRONG,
    ),
    harm("a higher priority", "import os\ntry:\n    os.nice(-5); print('ESCAPED')\nexcept OSError: pass\n" + WRONG),
    harm(
        "exit status 0 from a fork that finishes the child's work",
        "import os\nif os.fork(): os.waitpid(-1, 0); os._exit(0)\n" + WRONG,
        "ended|asked|",
    ),
]
