"""A pytest plugin for a nested nbval run: what every cell displayed goes into the file that KEEP_OUTPUTS names."""

from __future__ import annotations

import json
import os
from pathlib import Path


def pytest_runtest_teardown(item):
    outputs = getattr(item, "test_outputs", None)
    if outputs:
        with Path(os.environ["KEEP_OUTPUTS"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"cell": item.cell.get("id"), "outputs": [dict(one) for one in outputs]}) + "\n")
