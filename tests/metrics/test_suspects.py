"""The line-up: audited together it is what each audit alone says, and its one sentence contradicts no verdict."""

from __future__ import annotations

import pytest

from labkit.metrics.suspects import audit_all, lineup, planted

pytestmark = pytest.mark.slow

SAID = {
    "nothing": "the same under every partition",
    "precision": "the same under every partition",
    "padding": "another one where a sampler borrows some",
    "mean of means": "depends on how samples are shared out",
    "not a mean": "depends on how samples are shared out",
}


def test_ranks_that_stay_change_no_audit():
    suspects = lineup(7)
    together = audit_all(suspects)
    for name, kind in planted(7).items():
        found = together[name]
        assert repr(found.rows) == repr(suspects[name].audit().rows)
        assert [finding.kind for finding in found.findings][:1] == ([] if kind == "nothing" else [kind])
        assert SAID[kind] in found.summary()
        assert "(12 runs on 2 and 3 ranks" in found.summary()
