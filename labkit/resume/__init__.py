"""Does the run go on as if nothing had happened?

The line y = 3x + 2 (`train`, its torch twin `train_torch`, `reconcile`: the first component that differs between two
runs), checkpoints that survive kills and power cuts (`Store`), and how often to save (`young`, `daly`,
`exact_interval`). Steps count updates that are done; a cursor points at the next sample that is not yet applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.later import members

if TYPE_CHECKING:
    from labkit.resume.auditing import audit as audit
    from labkit.resume.auditing_report import ResumeFinding as ResumeFinding
    from labkit.resume.auditing_report import ResumeReport as ResumeReport
    from labkit.resume.checkpoint_error import CheckpointError as CheckpointError
    from labkit.resume.checkpoint_file import read_checkpoint as read_checkpoint
    from labkit.resume.checkpoint_file import write_checkpoint as write_checkpoint
    from labkit.resume.contract import CONTRACTS as CONTRACTS
    from labkit.resume.contract import Statistical as Statistical
    from labkit.resume.contract_tost import Equivalence as Equivalence
    from labkit.resume.contract_tost import margin_from as margin_from
    from labkit.resume.contract_tost import tost as tost
    from labkit.resume.coverage_report import SnapshotCoverage as SnapshotCoverage
    from labkit.resume.coverage_report import coverage as coverage
    from labkit.resume.crash import CrashState as CrashState
    from labkit.resume.crash import crash_states as crash_states
    from labkit.resume.crash import lay_out as lay_out
    from labkit.resume.crash_trial import OUTCOMES as OUTCOMES
    from labkit.resume.crash_trial import CrashReport as CrashReport
    from labkit.resume.crash_trial import crash_store as crash_store
    from labkit.resume.crash_trial import judge_crashes as judge_crashes
    from labkit.resume.cursor import CommittedLoader as CommittedLoader
    from labkit.resume.cursor import CommittedStream as CommittedStream
    from labkit.resume.cursor_order import Permutation as Permutation
    from labkit.resume.interval import daly as daly
    from labkit.resume.interval import draw_interval as draw_interval
    from labkit.resume.interval import exact_interval as exact_interval
    from labkit.resume.interval import expected_time as expected_time
    from labkit.resume.interval import interval_frame as interval_frame
    from labkit.resume.interval import young as young
    from labkit.resume.kill import ALL_PHASES as ALL_PHASES
    from labkit.resume.kill import PHASES as PHASES
    from labkit.resume.kill import Kill as Kill
    from labkit.resume.ledger import RecoveryLedger as RecoveryLedger
    from labkit.resume.ledger import recovery_ledger as recovery_ledger
    from labkit.resume.line import FAULTS as FAULTS
    from labkit.resume.line import FIELDS as FIELDS
    from labkit.resume.line import Line as Line
    from labkit.resume.line import StepRecord as StepRecord
    from labkit.resume.line import train as train
    from labkit.resume.line_report import Report as Report
    from labkit.resume.line_torch import TorchLine as TorchLine
    from labkit.resume.line_torch import train_torch as train_torch
    from labkit.resume.programs import Program as Program
    from labkit.resume.programs import Run as Run
    from labkit.resume.reconciliation import COMPONENTS as COMPONENTS
    from labkit.resume.reconciliation import Divergence as Divergence
    from labkit.resume.reconciliation import reconcile as reconcile
    from labkit.resume.snapshot import capture as capture
    from labkit.resume.snapshot import restore as restore
    from labkit.resume.store import Store as Store
    from labkit.resume.store_backend import LocalBackend as LocalBackend
    from labkit.resume.store_files import Operation as Operation
    from labkit.resume.store_objects import ObjectBackend as ObjectBackend
    from labkit.resume.store_pending import PendingSave as PendingSave
    from labkit.resume.store_report import Loaded as Loaded
    from labkit.resume.store_report import PassedOver as PassedOver
    from labkit.resume.store_report import Saved as Saved
    from labkit.resume.store_report import StoreReport as StoreReport

_LATER = {  # name -> module, imported on first use
    "CommittedLoader": "cursor",
    "CommittedStream": "cursor",
    "Permutation": "cursor_order",
    "capture": "snapshot",
    "restore": "snapshot",
    "coverage": "coverage_report",
    "SnapshotCoverage": "coverage_report",
    "audit": "auditing",
    "ResumeReport": "auditing_report",
    "ResumeFinding": "auditing_report",
    "Program": "programs",
    "Run": "programs",
    "Kill": "kill",
    "PHASES": "kill",
    "ALL_PHASES": "kill",
    "Statistical": "contract",
    "CONTRACTS": "contract",
    "tost": "contract_tost",
    "margin_from": "contract_tost",
    "Equivalence": "contract_tost",
    "COMPONENTS": "reconciliation",
    "CheckpointError": "checkpoint_error",
    "CrashReport": "crash_trial",
    "CrashState": "crash",
    "Divergence": "reconciliation",
    "FAULTS": "line",
    "FIELDS": "line",
    "Line": "line",
    "Loaded": "store_report",
    "LocalBackend": "store_backend",
    "OUTCOMES": "crash_trial",
    "ObjectBackend": "store_objects",
    "Operation": "store_files",
    "PassedOver": "store_report",
    "PendingSave": "store_pending",
    "RecoveryLedger": "ledger",
    "Report": "line_report",
    "Saved": "store_report",
    "StepRecord": "line",
    "Store": "store",
    "StoreReport": "store_report",
    "TorchLine": "line_torch",
    "crash_states": "crash",
    "crash_store": "crash_trial",
    "daly": "interval",
    "draw_interval": "interval",
    "exact_interval": "interval",
    "expected_time": "interval",
    "interval_frame": "interval",
    "judge_crashes": "crash_trial",
    "lay_out": "crash",
    "read_checkpoint": "checkpoint_file",
    "reconcile": "reconciliation",
    "recovery_ledger": "ledger",
    "train": "line",
    "train_torch": "line_torch",
    "write_checkpoint": "checkpoint_file",
    "young": "interval",
}

__all__ = [
    "ALL_PHASES",
    "COMPONENTS",
    "CONTRACTS",
    "FAULTS",
    "FIELDS",
    "OUTCOMES",
    "PHASES",
    "CheckpointError",
    "CommittedLoader",
    "CommittedStream",
    "CrashReport",
    "CrashState",
    "Divergence",
    "Equivalence",
    "Kill",
    "Line",
    "Loaded",
    "LocalBackend",
    "ObjectBackend",
    "Operation",
    "PassedOver",
    "PendingSave",
    "Permutation",
    "Program",
    "RecoveryLedger",
    "Report",
    "ResumeFinding",
    "ResumeReport",
    "Run",
    "Saved",
    "SnapshotCoverage",
    "Statistical",
    "StepRecord",
    "Store",
    "StoreReport",
    "TorchLine",
    "audit",
    "capture",
    "coverage",
    "crash_states",
    "crash_store",
    "daly",
    "draw_interval",
    "exact_interval",
    "expected_time",
    "interval_frame",
    "judge_crashes",
    "lay_out",
    "margin_from",
    "read_checkpoint",
    "reconcile",
    "recovery_ledger",
    "restore",
    "tost",
    "train",
    "train_torch",
    "write_checkpoint",
    "young",
]

__getattr__ = members(__name__, _LATER)
