"""What a person names on the command line: `pkg.module:name`, or `path/to/file.py:name`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from labkit.errors import UsageError


def find(what: str, spec: str) -> Any:
    """The object that `spec` names; modules are looked for in the working directory too, as `python -m` does.

    Raises:
        UsageError: the form is wrong, the module can't be imported, or it has no such name. `what` says which argument.
    """
    module, colon, name = spec.rpartition(":")
    if not colon or not module or not name:
        raise UsageError(f"{what} is {spec!r}: name a function as pkg.module:name or path/to/file.py:name")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = _module_of_file(Path(module)) if module.endswith(".py") else importlib.import_module(module)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # the person's own module may do anything, sys.exit included
        raise UsageError(f"{what} {spec!r} can't be imported: {type(error).__name__}: {error}") from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{what} {spec!r}: {module} has no {name}")
        found = getattr(found, part)
    return found


def _module_of_file(path: Path) -> Any:
    """A file as a module. It can't be imported by name in another process, so its functions travel by value."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)
    return module
