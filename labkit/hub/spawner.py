"""A spawner whose limits hold: JupyterHub's own only tells a server what it may use."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

from jupyterhub.spawner import LocalProcessSpawner, SimpleLocalProcessSpawner
from traitlets import Integer

MIB = 2**20


class _Limited:
    """Kernel limits, set in the server's process before it becomes the learner's: every child inherits them."""

    def make_preexec_fn(self, name: str) -> Callable[[], None]:
        """See LocalProcessSpawner."""
        become_learner = super().make_preexec_fn(name)  # type: ignore[misc]
        space, count = self.address_space_mib * MIB, self.processes  # type: ignore[attr-defined]

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (space, space))
            resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
            if become_learner is not None:
                become_learner()

        return limited


class LearnerSpawner(_Limited, LocalProcessSpawner):  # type: ignore[misc]
    """Runs each learner's server under the learner's own account."""

    address_space_mib = Integer(3072, help="MiB of address space a process may map.").tag(config=True)
    processes = Integer(400, help="Processes and threads the account may have.").tag(config=True)


class TryOutSpawner(_Limited, SimpleLocalProcessSpawner):  # type: ignore[misc]
    """Runs every server under the hub's own account, in a directory a learner: no wall between learners."""

    address_space_mib = Integer(3072, help="MiB of address space a process may map.").tag(config=True)
    processes = Integer(4096, help="Processes and threads of the account, which all servers share.").tag(config=True)

    def get_env(self) -> dict[str, Any]:
        """See SimpleLocalProcessSpawner."""
        return dict(super().get_env())
