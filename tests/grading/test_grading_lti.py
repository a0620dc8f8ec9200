"""Scores for a learning platform: made by PyLTI1p3, sent to a made-up platform on this machine."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

pytest.importorskip("pylti1p3")

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from labkit.checks.result import Evidence, Result, Verdict
from labkit.cli import main
from labkit.errors import LabkitError, UsageError
from labkit.grading import lti
from labkit.grading.journal import Journal
from labkit.grading.marks import Mark


def mark(learner="ada", exercise="a.b", verdict=Verdict.PASSED, kind="predict", lab="01_lab"):
    points = 2.0 if verdict is Verdict.PASSED else 0.0
    at = f"2026-03-01T10:00:0{len(exercise) % 10}+00:00"
    result = Result(exercise, verdict, points, 2.0, (Evidence("c", bool(points)),), "cpu", 0.1, learner, at, "1")
    return Mark(lab, "Title", kind, result, "f" * 8)


MARKS = [
    mark(exercise="a.b"),
    mark(exercise="a.cd", verdict=Verdict.FAILED),
    mark("ben", "a.b"),
    mark("ben", "a.x", kind="explain"),
    mark("cleo", "a.b", verdict=Verdict.BROKEN),
]


class Made(BaseHTTPRequestHandler):
    """A platform: gives a token for a signed request, takes scores, refuses those of cleo."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.seen.append((self.path, dict(self.headers), body))
        if self.path == "/token":
            self.answer(200, {"access_token": "t0ken", "token_type": "bearer", "expires_in": 3600})
        elif "cleo-id" in body:
            self.answer(422, {"error": "unknown user"})
        else:
            self.answer(200, {})

    def answer(self, status, content):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def platform(tmp_path):
    server = HTTPServer(("127.0.0.1", 0), Made)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    (tmp_path / "tool.pem").write_bytes(pem)
    url = f"http://127.0.0.1:{server.server_port}"
    config = {
        "issuer": url,
        "client_id": "client-1",
        "auth_token_url": f"{url}/token",
        "private_key_file": "tool.pem",
        "lineitems": {"01_lab": f"{url}/items/7?type=x"},
        "users": {"ada": "ada-id", "ben": "ben-id", "cleo": "cleo-id"},
    }
    (tmp_path / "platform.json").write_text(json.dumps(config))
    server.config, server.public = config, key.public_key()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def graded(tmp_path) -> Path:
    out = tmp_path / "marks"
    out.mkdir()
    with Journal(out) as book:
        book.add(MARKS)
    return out


def test_a_score_says_how_far_it_is_final():
    ada, ben, cleo = lti.scores(MARKS)
    assert (ada.given, ada.most, ada.final) == (2, 4, True)
    assert (ben.given, ben.final) == (4, False), "self-assessed points are for a person to look at"
    assert "2 points are self-assessed" in ben.comment
    assert not cleo.final
    sent = json.loads(lti.payload(ada, "u").get_value())
    assert sent == {
        "scoreGiven": 2.0,
        "scoreMaximum": 4.0,
        "activityProgress": "Submitted",
        "gradingProgress": "FullyGraded",
        "timestamp": ada.at,
        "userId": "u",
        "comment": "1 of 2 exercises passed.",
    }
    zero = lti.scores([mark(verdict=Verdict.NOT_ANSWERED)])[0]
    assert json.loads(lti.payload(zero, "u").get_value())["scoreGiven"] == 0


def test_nothing_is_sent_unasked(graded, platform, tmp_path, capsys):
    assert main(["post-marks", str(graded), "--platform", str(tmp_path / "platform.json")]) == 0
    assert "3 scores, not sent" in capsys.readouterr().out
    assert platform.seen == []


def test_scores_arrive(graded, platform, tmp_path, capsys):
    import jwt

    code = main(["post-marks", str(graded), "--platform", str(tmp_path / "platform.json"), "--send", "--json"])
    out, err = capsys.readouterr()
    assert code == 1, "cleo's was refused"
    assert "cleo, 01_lab: HTTP 422" in err
    assert json.loads(out)["sent"] is True
    token, *scores = platform.seen
    asked = parse_qs(token[2])
    claims = jwt.decode(
        asked["client_assertion"][0], platform.public, algorithms=["RS256"], audience=platform.config["auth_token_url"]
    )
    assert claims["iss"] == "client-1"
    assert asked["scope"] == [lti.SCOPE]
    assert [path for path, _, _ in scores] == ["/items/7/scores?type=x"] * 3
    for _, headers, body in scores:
        assert headers["Authorization"] == "Bearer t0ken"
        assert headers["Content-Type"] == "application/vnd.ims.lis.v1.score+json"
        assert json.loads(body)["userId"] in ("ada-id", "ben-id", "cleo-id")


def test_who_and_what_the_platform_does_not_know(graded, platform, tmp_path, capsys):
    file = tmp_path / "platform.json"
    file.write_text(json.dumps(platform.config | {"users": {"ada": "ada-id"}}))
    assert main(["post-marks", str(graded), "--platform", str(file)]) == 0
    assert "ben, 01_lab: no user id in the file" in capsys.readouterr().err
    file.write_text(json.dumps(platform.config | {"lineitems": {"02_lab": "x"}}))
    main(["post-marks", str(graded), "--platform", str(file)])
    assert "ada, 01_lab: no line item of the lab" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "has no issuer"),
        ({"lineitems": None}, "has no lineitems"),
        ({"lineitems": {"a": 3}}, "lineitems must map"),
        ({"private_key_file": "none.pem"}, "none.pem can't be read"),
    ],
)
def test_a_platform_file_that_cannot_be_used(platform, tmp_path, content, said):
    file = tmp_path / "platform.json"
    file.write_text(content if isinstance(content, str) else json.dumps(platform.config | content))
    with pytest.raises(UsageError, match=said):
        lti.read_platform(file)


def test_no_access(platform, tmp_path):
    file = tmp_path / "platform.json"
    for url in ("http://127.0.0.1:9/token", platform.config["issuer"] + "/nothing"):
        file.write_text(json.dumps(platform.config | {"auth_token_url": url}))
        with pytest.raises(LabkitError, match="gives no access"):
            lti.post([], lti.read_platform(file))
