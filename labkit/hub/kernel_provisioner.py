"""A kernel provisioner whose kernels are forked from a parent that has torch loaded. Opt-in.

For every Python kernel of this environment: JUPYTER_DEFAULT_PROVISIONER_NAME=labkit-fork in the environment of
JupyterLab, a hub's spawner, nbval or nbclient; `labkit lab --fork-kernels` sets it. For one kernel specification:
`"metadata": {"kernel_provisioner": {"provisioner_name": "labkit-fork"}}`. Where a kernel can't be forked, an ordinary
one starts; the log and, in that kernel, `labkit doctor` say why.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import LocalProvisioner

from labkit import doctor
from labkit.hub import kernel_forks
from labkit.hub.kernel_forks import NoFork

NAME = "labkit-fork"
VARIABLE = "JUPYTER_DEFAULT_PROVISIONER_NAME"
EXTENSION = "labkit.hub.kernel_provisioner"
"""As a Jupyter server extension it starts the parent with the server, so that the first kernel finds torch loaded."""


class ForkProvisioner(LocalProvisioner):  # type: ignore[misc]
    """Forks kernels; everything else (ports, signals, interrupts, restarts) is LocalProvisioner's."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork the kernel; where that can't be, start an ordinary one and say why in the log."""
        try:
            argv = _launcher_words(cmd)
            if kwargs.get("independent"):
                raise NoFork("this kernel is to outlive its server")
            env = {**(kwargs.get("env") or os.environ), doctor.KERNEL: "forked"}
            cwd = str(kwargs.get("cwd") or Path.cwd())
            self.process = await asyncio.to_thread(_fork, argv, env, cwd, kwargs)
        except NoFork as why:
            self.log.warning("labkit: an ordinary kernel starts, not a forked one: %s", why)
            kwargs["env"] = {**(kwargs.get("env") or os.environ), doctor.KERNEL: f"ordinary: {why}"}
            return await super().launch_kernel(cmd, **kwargs)
        self.pid = self.pgid = self.process.pid
        self.cwd = Path(cwd)
        return self.connection_info


def _fork(argv: list[str], env: dict[str, str], cwd: str, kwargs: dict[str, Any]) -> Any:
    with contextlib.ExitStack() as stack:
        streams = {}
        for number, name in ((1, "stdout"), (2, "stderr")):
            target = kwargs.get(name)
            if target == subprocess.PIPE or target == subprocess.STDOUT:
                raise NoFork(f"the kernel's {name} is to go to a new pipe")
            if target == subprocess.DEVNULL:
                target = stack.enter_context(open(os.devnull, "w"))
            if target is not None:
                streams[number] = target if isinstance(target, int) else target.fileno()
        return kernel_forks.parent().fork(argv, env, cwd, streams)


def _launcher_words(cmd: list[str]) -> list[str]:
    """The words for ipykernel_launcher. Raises NoFork for another language, Python or launcher."""
    flags = [word for word in cmd[1:3] if word.startswith("-X")]  # `-Xfrozen_modules=off`, as newer kernels are started
    words = [word for word in cmd if word not in flags]
    if words[1:3] != ["-m", "ipykernel_launcher"]:
        raise NoFork(f"{' '.join(cmd[:3])} is not this Python's own kernel")
    if Path(words[0]).name not in {"python", "python3"} and not os.path.samefile(words[0], sys.executable):
        raise NoFork(f"{words[0]} is another Python than {sys.executable}")
    if os.path.isabs(words[0]) and Path(words[0]).parent != Path(sys.executable).parent:
        raise NoFork(f"{words[0]} is another Python than {sys.executable}")
    return words[2:]


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": EXTENSION}]


def _load_jupyter_server_extension(server: Any) -> None:
    """See EXTENSION."""
    if os.environ.get(VARIABLE) == NAME:
        kernel_forks.parent()
        server.log.info("labkit: kernels are forked from a parent with torch loaded")
