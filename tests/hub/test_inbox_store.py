"""Hand-ins: nothing is replaced or lost, a receipt is for what is on the disk, limits are said in one line."""

from __future__ import annotations

import hashlib

import pytest

from labkit.errors import LabkitError, UsageError
from labkit.hub import inbox_store
from labkit.hub.inbox_store import Inbox

NAME = "01_pipeline_timeline.ipynb"


def test_the_newest_counts_and_older_ones_stay(tmp_path):
    inbox = Inbox(tmp_path)
    first, second = inbox.take("ada", NAME, b"{1}"), inbox.take("ada", NAME, b"{2}")
    assert (first.number, second.number) == (1, 2)
    assert second.sha256 == hashlib.sha256(b"{2}").hexdigest()
    assert Inbox(tmp_path).newest() == [second]
    assert [inbox.content(one) for one in inbox.of("ada")] == [b"{1}", b"{2}"]


def test_the_same_bytes_again_get_the_same_receipt(tmp_path):
    inbox = Inbox(tmp_path)
    assert inbox.take("ada", NAME, b"{}") == inbox.take("ada", NAME, b"{}")
    assert len(inbox.of("ada")) == 1
    inbox.take("ada", NAME, b"{2}")
    assert inbox.take("ada", NAME, b"{}").number == 3, "back to an earlier answer is a new hand-in"


def test_learners_are_apart(tmp_path):
    inbox = Inbox(tmp_path)
    inbox.take("ada", NAME, b"hers")
    inbox.take("bob", NAME, b"his")
    assert [one.learner for one in inbox.of("bob")] == ["bob"]
    assert sorted(one.learner for one in inbox.newest()) == ["ada", "bob"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "README.md", "01_x.ipynb/..", "01_A.ipynb", ".ipynb", "01_x.ipynb\n", "x" * 300]
)
def test_only_labs_are_taken(tmp_path, name):
    with pytest.raises(UsageError, match="no lab's notebook"):
        Inbox(tmp_path).take("ada", name, b"{}")
    assert not list(tmp_path.rglob("*.ipynb"))


def test_limits_are_said(tmp_path, monkeypatch):
    inbox = Inbox(tmp_path)
    monkeypatch.setattr(inbox_store, "LARGEST", 100)
    monkeypatch.setattr(inbox_store, "MOST", 250)
    with pytest.raises(UsageError, match="101 bytes, more than 100"):
        inbox.take("ada", NAME, b"x" * 101)
    with pytest.raises(UsageError, match="is empty"):
        inbox.take("ada", NAME, b"")
    inbox.take("ada", NAME, b"a" * 100)
    inbox.take("ada", NAME, b"b" * 100)
    with pytest.raises(UsageError, match="take more than 250 bytes together"):
        inbox.take("ada", NAME, b"c" * 100)
    assert inbox.take("bob", NAME, b"c" * 100).number == 1, "one learner's limit is nobody else's"


def test_a_file_changed_behind_its_back_is_noticed(tmp_path):
    inbox = Inbox(tmp_path)
    receipt = inbox.take("ada", NAME, b"{}")
    next(tmp_path.rglob("0001-*.ipynb")).write_bytes(b"{x}")
    with pytest.raises(LabkitError, match="was changed on the disk"):
        inbox.content(receipt)


def test_a_full_disk_costs_nothing_that_was_there(tmp_path, monkeypatch):
    inbox = Inbox(tmp_path)
    inbox.take("ada", NAME, b"{}")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("labkit.atomic_file.write_all", full)
    with pytest.raises(LabkitError, match=r"(?i)no space left"):
        inbox.take("ada", NAME, b"{2}")
    assert [one.number for one in inbox.of("ada")] == [1]
    monkeypatch.undo()
    assert inbox.take("ada", NAME, b"{2}").number == 2


@pytest.mark.parametrize("name", ["../x.html", "x.htm", "X.html", "a/b.html", ""])
def test_feedback_has_plain_names(tmp_path, name):
    with pytest.raises(UsageError, match="must be named like"):
        Inbox(tmp_path).give_feedback("ada", name, b"")


def test_feedback_comes_back_to_its_learner(tmp_path):
    inbox = Inbox(tmp_path)
    inbox.give_feedback("ada", "report.html", b"one")
    inbox.give_feedback("ada", "report.html", b"two")
    assert inbox.feedback_page("ada", "report.html") == b"two"
    assert inbox.feedback("bob") == []
    assert inbox.feedback_page("bob", "../ada/report.html") is None
