"""Attacks on the pipe between answer and judge. The answer owns its end: it may write anything there."""

from __future__ import annotations

from cheats.attack import WRONG, Attack

FIND = """
import os, stat, struct, json, sys
pipes = [int(fd) for fd in os.listdir('/proc/self/fd') if int(fd) > 2]
pipes = [fd for fd in pipes if os.path.exists(f'/proc/self/fd/{fd}') or True]
def sockets():
    for fd in pipes:
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
wire = next(sockets())
def frame(data): os.write(wire, struct.pack('>I', len(data)) + data)
"""
PIPE = "wrote into the grader's own pipe|without being asked|can't be used"


def wire(name: str, code: str, said: str = PIPE, **more) -> Attack:
    return Attack(name, "injection", FIND + code + WRONG, said=said, **more)


ATTACKS = [
    wire(
        "a forged answer ahead of time",
        'frame(b\'["ready","f"]\'); frame(b\'["is",{"d":[["serial",1],["overlapped",1]]}]\')\n',
        said="",
    ),
    wire("answers twice", 'frame(b\'["ready","f"]\'); frame(b\'["ready","f"]\')\n'),
    wire("says what no message is", 'frame(b\'["passed","all"]\')\n'),
    wire("a message that is no list", 'frame(b\'{"verdict": "passed"}\')\n'),
    wire("bytes that are no JSON", "frame(b'\\xff\\xfe pickle')\n"),
    wire("JSON with code for the parser", 'frame(b\'["is",{"__class__":"os.system"}]\')\n'),
    wire("a frame nested 100,000 deep", "frame(b'[' * 100_000)\n"),
    wire("five million empty lists", "frame(b'[' + b'[],' * 5_000_000 + b'[]]')\n"),
    wire("announces 4 GB", "os.write(wire, b'\\xff\\xff\\xff\\xff')\n"),
    wire(
        "200 MB without end",
        "os.write(wire, struct.pack('>I', 30 << 20))\nfor _ in range(200): os.write(wire, b'1,' * (1 << 19))\n",
    ),
    wire("keys that can't be keys", 'frame(b\'["is",{"d":[[[1],2]]}]\')\n'),
    wire("a number of 100,000 digits", "frame(b'[\"is\",' + b'9' * 100_000 + b']')\n"),
    wire(
        "announces a message and is silent",
        "os.write(wire, struct.pack('>I', 1 << 20))\nimport time; time.sleep(60)\n",
        "longer than",
        limits={"seconds": 0.5},
    ),
    wire("closes the pipe", "os.close(wire)\n", "ended"),
    wire("closes every descriptor", "os.closerange(0, 4096)\n", "ended"),
    wire(
        "reads the judge's question itself and keeps quiet",
        "os.set_blocking(wire, True)\nimport threading\n"
        "threading.Thread(target=lambda: [os.read(wire, 1 << 20) for _ in range(99)], daemon=True).start()\n",
        "",
        limits={"seconds": 0.7},
    ),
    wire(
        "a child that answers when its parent has died",
        """
if os.fork() == 0:
    os.setsid()
    import time; time.sleep(0.1)
    frame(b'["ready","f"]'); frame(b'["is",{"d":[["serial",1],["overlapped",1]]}]'); time.sleep(60)
os._exit(0)
""",
        "ended by itself|can't be used|asked",
    ),
    Attack(
        "claims to have raised, in words that are markup",
        "injection",
        FIND + 'frame(b\'["fault",true,"<script>alert(1)</script>","",""]\'); os._exit(0)\n' + WRONG,
        said="script|asked|ended",
    ),
]
