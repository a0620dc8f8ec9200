"""What this machine can run, what each limit means for the labs, and what to fix. Only looks; changes nothing."""

from __future__ import annotations

import contextlib
import html
import importlib.metadata
import multiprocessing
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError

TESTED = {"torch": "2.13.0", "jupyterlab": "4.6.6", "ipykernel": "7.4.0", "nbval": "0.11.0"}
"""The versions that the tests ran with (constraints.txt; a test holds the two together)."""

GB, MB = 1e9, 1e6
_MARKS = {"ok": ("✔", "#009E73"), "limited": ("△", "#E69F00"), "missing": ("✘", "#D55E00")}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


KERNEL = "LABKIT_KERNEL"
"""The variable that tells a kernel how it was started where forked kernels were asked for: "forked", or why not."""


@dataclass(frozen=True)
class Row:
    """One thing looked at.

    Attributes:
        what: what was looked at.
        found: what this machine has.
        status: "ok"; "limited": labs run, with the effect `meaning` names; "missing": labs can't run.
        meaning: what it means for the labs, one sentence.
        fix: what to do, "" where nothing needs doing.
    """

    what: str
    found: str
    status: str
    meaning: str
    fix: str = ""


@dataclass(frozen=True)
class Report:
    """What `examine` found. Shown in a notebook as a card, elsewhere as text."""

    rows: tuple[Row, ...]

    @property
    def ready(self) -> bool:
        """True when nothing is missing that the labs need."""
        return all(row.status != "missing" for row in self.rows)

    def summary(self) -> str:
        """One line."""
        if not self.ready:
            return "Something that the labs need is missing on this machine: see the fixes."
        limits = sum(row.status == "limited" for row in self.rows)
        if not limits:
            return "This machine can run every lab."
        return f"This machine can run every lab, with {limits} limit{'s' * (limits > 1)} to know."

    def text(self) -> str:
        """The text twin."""
        name, found = (max(len(getattr(row, column)) for row in self.rows) for column in ("what", "found"))
        lines = [self.summary()]
        for row in self.rows:
            lines.append(f"{_MARKS[row.status][0]} {row.status:7}  {row.what:{name}}  {row.found:{found}}".rstrip())
            if row.status != "ok":
                lines.append(f"             {row.meaning}")
                lines.append(f"             To fix: {row.fix}" if row.fix else "")
        return "\n".join(line for line in lines if line)

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {"ready": self.ready, "summary": self.summary(), "rows": [asdict(row) for row in self.rows]}

    def html(self) -> str:
        """The card, readable in JupyterLab's light and dark theme, without scripts."""
        cell = "padding:4px 14px 4px 0;text-align:left;vertical-align:top;background:none"
        head = "".join(
            f'<th scope="col" style="{cell};font-weight:600">{name}</th>'
            for name in ("Looked at", "Found", "Status", "What it means")
        )
        body = "".join(
            f'<tr style="background:none"><th scope="row" style="{cell};font-weight:normal">'
            f"{html.escape(row.what)}</th>"
            f'<td style="{cell};overflow-wrap:anywhere">{html.escape(row.found)}</td>'
            f'<td style="{cell};white-space:nowrap"><span aria-hidden="true" style="display:inline-block;'
            f'min-width:1.5em;border-left:4px solid {_MARKS[row.status][1]};padding-left:6px">'
            f'{_MARKS[row.status][0]}</span>{row.status}</td><td style="{cell}">{html.escape(row.meaning)}'
            + (f"<br><strong>To fix:</strong> {html.escape(row.fix)}" if row.fix else "")
            + "</td></tr>"
            for row in self.rows
        )
        return (
            '<section aria-label="What this machine can run" class="labkit-doctor" style="padding:8px 14px;'
            "margin:6px 0;background:var(--jp-layout-color2,#f5f5f5);color:var(--jp-content-font-color1,#111);"
            f'font-size:14px;line-height:1.45;max-width:980px"><p style="margin:0 0 6px"><strong>'
            f'{html.escape(self.summary())}</strong></p><table style="border-collapse:collapse;font-size:13px;'
            f'color:inherit;margin:0"><thead><tr style="background:none">{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></section>"
        )

    def __repr__(self) -> str:
        """The text twin, so that a plain console shows it too."""
        return self.text()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}


def examine() -> Report:
    """Look at this machine. Takes well under a second; loads neither torch nor JupyterLab."""
    rows = [cores(), memory(), gpu(), shared_memory(), open_files(), processes(), python()]
    rows += [package(name, tested) for name, tested in TESTED.items()]
    rows += [start_method(), *kernel(), browser(), *progress()]
    return Report(tuple(rows))


def cores() -> Row:
    """CPU cores that this process may use: its affinity, and the quota of its container."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cpu_quota()
    usable = min(allowed, quota or allowed)
    found = f"{usable:g}" + (f" (container's quota; {allowed} present)" if quota and quota < allowed else "")
    if usable < 2:
        meaning = "Workers and trainer take turns on one core: real runs overlap less than the ideal line says."
        return Row("CPU cores", found, "limited", meaning, "give the container or virtual machine 2 cores or more")
    return Row("CPU cores", found, "ok", "Workers and trainer can run at the same time.")


def memory() -> Row:
    """Main memory: in all, free, and the limit of the container."""
    import psutil

    machine = psutil.virtual_memory()
    limit = _memory_limit()
    total = min(machine.total, limit or machine.total)
    found = f"{total / GB:.1f} GB" + (" (container's limit)" if limit and limit < machine.total else "")
    free = min(machine.available, total)
    found += f", {free / GB:.1f} GB free" if free < total else ""
    if free < 2 * GB:
        meaning = "Four ranks with torch loaded, and the notebook, need about 2 GB: a kernel may be killed."
        return Row("memory", found, "limited", meaning, "close other kernels and programs, or raise the limit")
    return Row("memory", found, "ok", "Room for four ranks with torch loaded.")


def gpu() -> Row:
    """The GPU as the driver names it. torch is asked only where it is loaded already: loading it takes seconds."""
    names = []
    for about in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        with contextlib.suppress(OSError):
            lines = dict(line.split(":", 1) for line in about.read_text().splitlines() if ":" in line)
            names.append(lines.get("Model", "NVIDIA GPU").strip())
    build = _version("torch") or ""
    loaded = sys.modules.get("torch")
    usable = loaded.cuda.device_count() > 0 if loaded else bool(names) and "+cpu" not in build
    found = ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names)) or (
        "found" if usable else "none"
    )
    if names and not usable:
        meaning = "torch can't use this GPU, so the labs run on the CPU."
        return Row("GPU", found, "limited", meaning, "install a CUDA build of torch, and a driver that fits it")
    if os.environ.get("LABKIT_DEVICE") == "cpu":
        return Row("GPU", found, "ok", "LABKIT_DEVICE=cpu keeps the labs on the CPU.")
    return Row("GPU", found, "ok", "Experiments run on it." if usable else "Not needed: every lab runs on the CPU.")


def shared_memory() -> Row:
    """/dev/shm, through which DataLoader workers hand batches over (Linux)."""
    shm = Path("/dev/shm")
    if sys.platform != "linux":
        return Row("shared memory", "managed by the system", "ok", "Workers can hand batches over.")
    if not os.access(shm, os.W_OK):
        meaning = "DataLoader workers can't hand batches over: labs with workers fail."
        return Row("shared memory", "/dev/shm can't be written", "missing", meaning, "mount a tmpfs on /dev/shm")
    room = shutil.disk_usage(shm)
    found = f"{_size(room.total)} in /dev/shm, {_size(room.free)} free"
    if room.free < 256 * MB:
        meaning = "A worker dies with a bus error once its batches fill it; Docker gives 64 MB unless told."
        return Row("shared memory", found, "limited", meaning, "docker run --shm-size=1g, or mount a larger tmpfs")
    return Row("shared memory", found, "ok", "Room for the batches that workers hand over.")


def open_files() -> Row:
    """How many files a process may hold open."""
    limit = _rlimit("RLIMIT_NOFILE")
    if limit is not None and limit < 1024:
        meaning = "Each tensor from a worker holds a file open: 'too many open files' comes early."
        return Row("open files", f"{limit}", "limited", meaning, "ulimit -n 4096 before `labkit lab`")
    return Row("open files", "no limit" if limit is None else f"{limit}", "ok", "Enough for workers and ranks.")


def processes() -> Row:
    """How many processes and threads the user and the container may have."""
    limits = [limit for limit in (_rlimit("RLIMIT_NPROC"), _pids_limit()) if limit is not None]
    if limits and min(limits) < 512:
        meaning = "JupyterLab, workers and ranks start some hundred threads: a start may fail."
        fix = "raise ulimit -u, or the container's --pids-limit"
        return Row("processes", f"{min(limits)}", "limited", meaning, fix)
    return Row("processes", f"{min(limits)}" if limits else "no limit", "ok", "Enough for workers and ranks.")


def python() -> Row:
    """The Python that runs the labs."""
    found = f"{platform.python_version()} ({sys.executable})"
    return Row("Python", found, "ok", "Fits; the tests run with 3.11.")


def package(name: str, tested: str) -> Row:
    """A package that labs stand on, against the version that was tested."""
    version = _version(name)
    again = "make lab (or: pip install --constraint constraints.txt --editable .)"
    if version is None:
        return Row(name, "not installed", "missing", "The labs need it.", again)
    if name == "ipykernel" and version.startswith("7.0."):
        meaning = "ipykernel 7.0 loses what a cell shows from a thread: cards and drawings may not appear."
        return Row(name, version, "limited", meaning, again)
    if version.split("+")[0].split(".")[:2] != tested.split(".")[:2]:
        return Row(name, version, "limited", f"Not the version that was tested ({tested}); it may still work.", again)
    return Row(name, version, "ok", f"Tested with {tested}.")


def start_method() -> Row:
    """Whether new ranks can be forked from a process that has torch loaded."""
    if "fork" in multiprocessing.get_all_start_methods():
        return Row("start of ranks", "fork", "ok", "Ranks start in milliseconds.")
    meaning = "Without fork every rank loads torch anew: experiments with ranks take seconds to start."
    return Row("start of ranks", "spawn only", "limited", meaning, "use Linux, macOS or WSL for quick experiments")


def kernel() -> Iterator[Row]:
    """How this kernel was started, where forked kernels were asked for."""
    how = os.environ.get(KERNEL)
    if how == "forked":
        yield Row("this kernel", how, "ok", "It shares torch with your other kernels: a quick start, little memory.")
    elif how:
        fix = "restart the kernel; the server's log says more"
        yield Row("this kernel", how, "limited", "It was to be forked; it works, and starts slowly.", fix)


def browser() -> Row:
    """Chromium, which only the browser tests need."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path:
        return Row("Chromium", path, "ok", "The browser tests can run.")
    fix = "only for developers: apt-get install chromium"
    return Row("Chromium", "none (optional)", "ok", "Only the browser tests need it; without it they are skipped.", fix)


def progress() -> Iterator[Row]:
    """Where progress is kept, whether it can be written there, and how much room there is."""
    from labkit.course.progress import ProgressStore

    away = "set LABKIT_PROGRESS to a .sqlite file in a directory of yours"
    lost = "The labs run, but what you pass is not kept."
    try:
        path = ProgressStore().path
        there = next(place for place in (path, *path.parents) if place.exists())
        wrong = path.is_dir() or (there != path and not there.is_dir())
        writable = not wrong and os.access(there, os.W_OK) and (there != path or os.access(path.parent, os.W_OK))
        free = shutil.disk_usage(there).free
    except LabkitError as error:
        yield Row("progress file", str(error), "limited", lost, away)
        return
    except OSError as error:
        yield Row("progress file", f"can't be looked at ({error.strerror})", "limited", lost, away)
        return
    if writable:
        yield Row("progress file", f"{path}", "ok", "Each check is kept there.")
    else:
        yield Row("progress file", f"{path} can't be written", "limited", lost, away)
    if free < 100 * MB:
        meaning = "The disk is nearly full: progress and notebooks may not be saved."
        yield Row("free disk", _size(free), "limited", meaning, "free some space there, or set LABKIT_PROGRESS")
    else:
        yield Row("free disk", _size(free), "ok", "Room for progress and notebooks.")


def _size(octets: float) -> str:
    return f"{octets / GB:.1f} GB" if octets >= GB else f"{octets / MB:.0f} MB"


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _rlimit(name: str) -> int | None:
    """A soft limit of this process; None for no limit, or a system that has none of the kind."""
    try:
        import resource

        soft, _ = resource.getrlimit(getattr(resource, name))
    except (ImportError, AttributeError):
        return None
    return None if soft == resource.RLIM_INFINITY else soft


def _cgroup(*names: str) -> Iterator[str]:
    """The content of a control file in this process's cgroup (version 2, then 1) and in every group above it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, inside = line.split(":", 2)
            for root in [Path("/sys/fs/cgroup")] if not kinds else [Path("/sys/fs/cgroup", kinds)]:
                place = root / inside.lstrip("/")
                for group in (place, *place.parents):
                    for name in names:
                        with contextlib.suppress(OSError):
                            yield (group / name).read_text().strip()
                    if group == root:
                        break


def _cpu_quota() -> float | None:
    """The tightest CPU quota in cores; None where there is none."""
    quotas = []
    for text in _cgroup("cpu.max"):
        share, period = text.split()
        if share != "max":
            quotas.append(int(share) / int(period))
    shares, periods = list(_cgroup("cpu.cfs_quota_us")), list(_cgroup("cpu.cfs_period_us"))
    quotas += [int(share) / int(period) for share, period in zip(shares, periods, strict=False) if int(share) > 0]
    return min(quotas, default=None)


def _memory_limit() -> int | None:
    limits = [int(text) for text in _cgroup("memory.max", "memory.limit_in_bytes") if text != "max"]
    return min(limits, default=None)


def _pids_limit() -> int | None:
    return min((int(text) for text in _cgroup("pids.max") if text != "max"), default=None)
