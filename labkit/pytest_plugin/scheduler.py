"""How xdist hands out tests when there are notebooks among them: a notebook whole, other tests as with loadgroup."""

from __future__ import annotations

from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]


class NotebookScheduling(LoadGroupScheduling):  # type: ignore[misc]
    """xdist's scheduling by group, with each notebook a group."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return path if path.endswith(".ipynb") else super()._split_scope(nodeid)
