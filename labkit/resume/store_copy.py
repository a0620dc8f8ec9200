"""A consistent copy of a state, made while training stands still."""

from __future__ import annotations

import sys
from typing import Any


class Staging:
    """Memory for copies, used again from save to save: pages that are mapped already take half the time to fill."""

    def __init__(self) -> None:
        self._held: dict[int, Any] = {}

    def copy(self, leaf: Any, index: int) -> Any:
        """A copy of a tensor or an array on the CPU. It is overwritten by the next copy with the same number."""
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(leaf, torch.Tensor):
            return leaf.copy()
        held = self._held.get(index)
        if held is None or held.shape != leaf.shape or held.dtype != leaf.dtype:
            held = self._held[index] = torch.empty(leaf.shape, dtype=leaf.dtype, pin_memory=leaf.is_cuda)
        held.copy_(leaf.detach())
        return held
