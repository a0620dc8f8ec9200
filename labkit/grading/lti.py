"""Marks for a learning platform: score payloads of LTI 1.3 (Assignment and Grade Services 2.0), through PyLTI1p3.

A score is one learner's points in one lab. Nothing is sent unless a person says so, with a file of the platform's:

    {"issuer": "https://lms.example", "client_id": "10000000000001",
     "auth_token_url": "https://lms.example/login/oauth2/token", "private_key_file": "tool.pem",
     "lineitems": {"01_pipeline_timeline": "https://lms.example/api/lti/courses/1/line_items/2"},
     "users": {"ada": "the platform's id of ada"}}

`users` may be left out where the learners' names are the platform's user ids; `auth_audience` may be added.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.checks.result import Verdict
from labkit.errors import LabkitError, UsageError
from labkit.grading.marks import Mark

SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
TIMEOUT_S = 30.0
_NEEDED = ("issuer", "client_id", "auth_token_url", "private_key_file", "lineitems")


@dataclass(frozen=True)
class Score:
    """One learner's points in one lab.

    learner, lab (its stem), given and most (points), at (time of the latest mark, ISO 8601), comment (for the learner).
    final: whether nothing is left for a person: no exercise is self-assessed, and none could not be judged.
    """

    learner: str
    lab: str
    given: float
    most: float
    at: str
    comment: str
    final: bool


@dataclass(frozen=True)
class Platform:
    """Where scores go. See the module's text for the fields; private_key: the text of the key file."""

    issuer: str
    client_id: str
    auth_token_url: str
    private_key: str
    lineitems: Mapping[str, str]
    users: Mapping[str, str] | None
    auth_audience: str | None


def scores(marks: Iterable[Mark]) -> list[Score]:
    """The scores of a grading, by learner and lab."""
    groups: dict[tuple[str, str], list[Mark]] = {}
    for mark in marks:
        groups.setdefault((mark.result.learner, mark.lab), []).append(mark)
    return [_score(learner, lab, found) for (learner, lab), found in groups.items()]


def _score(learner: str, lab: str, marks: list[Mark]) -> Score:
    passed = sum(mark.result.verdict is Verdict.PASSED for mark in marks)
    broken = sum(mark.result.verdict is Verdict.BROKEN for mark in marks)
    own = [mark for mark in marks if mark.self_assessed and mark.result.verdict is Verdict.PASSED]
    said = [f"{passed} of {len(marks)} exercises passed."]
    if own:
        said.append(f"{sum(mark.result.points for mark in own):g} points are self-assessed.")
    if broken:
        said.append(f"{broken} could not be judged, by the grader's fault.")
    return Score(
        learner,
        lab,
        float(sum(mark.result.points for mark in marks)),
        float(sum(mark.result.max_points for mark in marks)),
        max(mark.result.at for mark in marks),
        " ".join(said),
        not own and not broken,
    )


def payload(score: Score, user: str) -> Any:
    """The score as a `pylti1p3.grade.Grade`; user: the platform's id of the learner."""
    from pylti1p3.grade import Grade

    return (
        Grade()
        .set_score_given(score.given)
        .set_score_maximum(score.most)
        .set_timestamp(score.at)
        .set_activity_progress("Submitted")
        .set_grading_progress("FullyGraded" if score.final else "PendingManual")
        .set_user_id(user)
        .set_comment(score.comment)
    )


def read_platform(path: Path) -> Platform:
    """Read a platform's file. Raises UsageError, one line, where it can't be used."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path} can't be read: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    lacking = [name for name in _NEEDED if not (isinstance(found, dict) and found.get(name))]
    if lacking:
        raise UsageError(f"{path} has no {lacking[0]}: it needs {', '.join(_NEEDED)}")
    for name in ("lineitems", "users"):
        if not _texts(found.get(name, {})):
            raise UsageError(f"{path}: {name} must map names to texts")
    key = path.parent / str(found["private_key_file"])
    try:
        private = key.read_text("ascii")
    except (OSError, ValueError):
        raise UsageError(f"{path}: private_key_file {key} can't be read") from None
    return Platform(
        str(found["issuer"]),
        str(found["client_id"]),
        str(found["auth_token_url"]),
        private,
        found["lineitems"],
        found.get("users"),
        found.get("auth_audience"),
    )


def _texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def addressed(found: Iterable[Score], platform: Platform) -> tuple[list[tuple[Score, str, str]], list[str]]:
    """Each score with its user and its line item; and, a line each, the scores that have none there."""
    ready, left = [], []
    for score in found:
        user = score.learner if platform.users is None else platform.users.get(score.learner)
        item = platform.lineitems.get(score.lab)
        if user and item:
            ready.append((score, user, item))
        else:
            left.append(f"{score.learner}, {score.lab}: no {'line item of the lab' if user else 'user id'} in the file")
    return ready, left


def post(ready: Iterable[tuple[Score, str, str]], platform: Platform) -> list[str]:
    """Send scores; a line for each that the platform refused. Sending one again replaces it there.

    Raises LabkitError where the platform can't be reached, or gives no access.
    """
    import requests
    from pylti1p3.assignments_grades import AssignmentsGradesService
    from pylti1p3.exception import LtiException
    from pylti1p3.registration import Registration
    from pylti1p3.service_connector import ServiceConnector

    registration = Registration()
    registration.set_issuer(platform.issuer).set_client_id(platform.client_id)
    registration.set_auth_token_url(platform.auth_token_url).set_tool_private_key(platform.private_key)
    if platform.auth_audience:
        registration.set_auth_audience(platform.auth_audience)
    refused = []
    with _session() as session:
        connector = ServiceConnector(registration, session)
        try:
            connector.get_access_token([SCOPE])
        except (requests.RequestException, LtiException, ValueError, KeyError, TypeError) as error:
            raise LabkitError(f"{platform.auth_token_url} gives no access: {_why(error)}") from None
        for score, user, item in ready:
            service = AssignmentsGradesService(connector, {"scope": [SCOPE], "lineitem": item})
            try:
                service.put_grade(payload(score, user))
            except (requests.RequestException, LtiException, ValueError) as error:
                refused.append(f"{score.learner}, {score.lab}: {_why(error)}")
    return refused


def _session() -> Any:
    """A session of `requests` that waits for nothing longer than TIMEOUT_S, and is never sent elsewhere."""
    import requests

    class Session(requests.Session):
        def request(self, *args: Any, **options: Any) -> Any:
            return super().request(*args, **{"timeout": TIMEOUT_S, "allow_redirects": False} | options)

    return Session()


def _why(error: BaseException) -> str:
    response = getattr(error, "response", None)
    status = f"HTTP {response.status_code}" if response is not None else ""
    return " ".join(f"{status} {error}".split())[:200]
