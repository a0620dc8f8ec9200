"""The course as learners get it: a bundle in a git repository that everybody on the machine may read, nobody write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from labkit.errors import LabkitError

REPOSITORY = "labkit-course"
NOT_FOR_LEARNERS = (
    "@jupyterlab/apputils-extension:announcements",
    "@jupyter/nbgrader:formgrader",
    "@jupyter/nbgrader:create-assignment",
    "@jupyter/nbgrader:course-list",
)
"""Parts of JupyterLab that a learner's page leaves out: a question about news, the teacher's tools."""


def publish(files: Mapping[str, bytes], place: Path) -> Path:
    """Put a bundle's files into DIR/course/labkit-course, as one commit where anything changed; the repository.

    Learners' links keep working: nbgitpuller merges the new commit into what they have.
    """
    if shutil.which("git") is None:
        raise LabkitError("git is missing on this machine: apt-get install git")
    course = place / "course"
    repository = course / REPOSITORY
    repository.mkdir(parents=True, exist_ok=True)
    if not (repository / ".git").is_dir():
        _git(repository, "init", "--quiet", "--initial-branch=main")
    for old in repository.iterdir():
        if old.name != ".git":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name, content in files.items():
        target = repository / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    _git(repository, "add", "--all")
    if _git(repository, "status", "--porcelain"):
        _git(repository, "commit", "--quiet", "--message", "The course")
    (course / "gitconfig").write_text(f"[safe]\n\tdirectory = {repository}\n\tdirectory = {repository}/.git\n")
    lab = course / "jupyter" / "labconfig"
    lab.mkdir(parents=True, exist_ok=True)
    (lab / "page_config.json").write_text(json.dumps({"disabledExtensions": dict.fromkeys(NOT_FOR_LEARNERS, True)}))
    _readable(course)
    return repository


def _git(repository: Path, *words: str) -> str:
    who = {"GIT_AUTHOR_NAME": "labkit", "GIT_AUTHOR_EMAIL": "labkit@localhost"}
    who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
    done = subprocess.run(
        ["git", "-C", str(repository), "-c", f"safe.directory={repository}", *words],
        env={**os.environ, **who, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LabkitError(f"git {words[0]} in {repository}: {' '.join(done.stderr.split())}")
    return done.stdout


def _readable(top: Path) -> None:
    """Everybody reads, the owner alone writes, whatever the umask was."""
    for path in (top, *top.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
