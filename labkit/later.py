"""Names of a package that are imported on first use, so that importing the package stays instant."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def members(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of `package` (PEP 562): a name from `modules` is looked up in the module of the package there.

    Raises (the function returned): AttributeError for any other name, as a package without it would.
    """

    def find(name: str) -> Any:
        if name in modules:
            return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
