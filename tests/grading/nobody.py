"""Run a command as a user without rights, on a machine where the interpreter may be readable for root alone.

python nobody.py COMMAND...: in a mount namespace of its own, the interpreter's directories stay visible although their
parent is closed to others; then the command runs as user 65534, in no group, without a capability.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

NOBODY = 65534


def possible() -> str:
    """Why it can't be done; "" where it can."""
    if os.geteuid():
        return "already without rights: the other tests run so"
    missing = [tool for tool in ("unshare", "setpriv", "mount") if shutil.which(tool) is None]
    if missing:
        return f"{missing[0]} is missing"
    tried = subprocess.run(command(["true"]), capture_output=True, text=True, check=False)
    return tried.stderr.strip()[-200:] if tried.returncode else ""


def command(words: list[str], *, drop: bool = True) -> list[str]:
    """`words` as the command line that runs them so; without `drop` as who we are, the interpreter visible to all."""
    become = f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups " if drop else ""
    steps = [f"exec {become}{shlex.join(words)}"]
    for closed in sorted(closed_parents()):
        inside = [place for place in (sys.prefix, sys.base_prefix) if os.path.realpath(place).startswith(closed + "/")]
        held = [f"/mnt/labkit-held-{i}" for i, _ in enumerate(inside)]
        steps[:0] = [
            "mount -t tmpfs -o mode=755 tmpfs /mnt",
            *(f"mkdir {h} && mount --rbind {shlex.quote(p)} {h}" for h, p in zip(held, inside, strict=True)),
            f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(closed)}",
            *(
                f"mkdir -p {shlex.quote(p)} && mount --rbind {h} {shlex.quote(p)}"
                for h, p in zip(held, inside, strict=True)
            ),
            "umount -l /mnt",
        ]
    return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", "; ".join(steps)]


def closed_parents() -> set[str]:
    """Top-level directories above the interpreter that others may not enter, such as /root."""
    found = set()
    for place in (sys.prefix, os.path.realpath(sys.base_prefix)):
        top = "/" + place.split("/")[1]
        if not os.stat(top).st_mode & 0o001:
            found.add(top)
    return found


if __name__ == "__main__":
    words = command(sys.argv[1:])
    os.execvp(words[0], words)
