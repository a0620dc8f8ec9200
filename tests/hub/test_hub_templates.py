"""The templates in docs/hub give the rights that `labkit hub` gives; the errors that the guide names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from traitlets.config import Config

import labkit
from labkit.hub.classroom import Classroom

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "classroom.md").read_text(encoding="utf-8")
OURS = Path(labkit.__file__).parent / "hub" / "jupyterhub_config.py"

TERMINAL = "--ServerApp.terminado_settings=shell_command=/bin/bash"


def configured(source: str) -> Config:
    config = Config()
    config.JupyterHub.services, config.JupyterHub.load_roles = [], []
    exec(compile(source, "config", "exec"), {"get_config": lambda: config, "c": config})
    return config


def rights(config: Config) -> dict[str, object]:
    """Who may do what: scopes by role, the services' own, the custom ones."""
    hub = config.JupyterHub
    services = {one["name"]: one for one in hub.services if one["name"] in ("board", "inbox")}
    return {
        "roles": {one["name"]: sorted(one["scopes"]) for one in hub.load_roles if one["name"] != "culler"},
        "services": {name: sorted(one["oauth_client_allowed_scopes"]) for name, one in services.items()},
        "custom": set(hub.custom_scopes),
        "groups": set(hub.load_groups),
        "modules": {name: one["command"][1:] for name, one in services.items()},
        "roles of groups": {one["name"]: one.get("groups") for one in hub.load_roles if one["name"] != "culler"},
    }


@pytest.fixture
def ours(tmp_path, monkeypatch):
    Classroom(tmp_path, ("ada", "bob"), ("tess",)).save()
    monkeypatch.setenv("LABKIT_CLASSROOM", str(tmp_path))
    monkeypatch.setenv("LABKIT_HUB_PORTS", "1,2,3,4")
    monkeypatch.setenv("LABKIT_HUB_PROXY", "proxy")
    return configured(OURS.read_text(encoding="utf-8"))


def values():
    return yaml.safe_load((ROOT / "docs" / "hub" / "values.yaml").read_text(encoding="utf-8"))


def tljh(tmp_path):
    key = tmp_path / "course.key"
    key.write_text("k\n")
    source = (ROOT / "docs" / "hub" / "tljh_config.py").read_text(encoding="utf-8")
    return configured(source.replace("/root/course.key", str(key)))


def test_the_littlest_jupyterhub_gives_the_same_rights(ours, tmp_path):
    theirs = tljh(tmp_path)
    assert rights(theirs) == rights(ours)
    assert theirs.Authenticator.allowed_users == ours.Authenticator.allowed_users
    assert set(theirs.Spawner.environment) <= {*ours.Spawner.environment, "LABKIT_COURSE_KEY"}
    assert set(theirs.Spawner.args) <= {*ours.Spawner.args}
    assert TERMINAL in theirs.Spawner.args


def test_kubernetes_gives_the_same_rights(ours):
    chart = values()
    theirs = configured(chart["hub"]["extraConfig"]["labkit"])
    assert rights(theirs) == rights(ours)
    assert TERMINAL in theirs.Spawner.args
    assert set(chart["singleuser"]["extraEnv"]) <= set(ours.Spawner.environment)
    ports = {int(one["url"].rpartition(":")[2]) for one in theirs.JupyterHub.services}
    assert {one["port"] for one in chart["hub"]["service"]["extraPorts"]} == ports
    for name in ("board", "inbox"):
        url = next(one["url"] for one in theirs.JupyterHub.services if one["name"] == name)
        assert chart["singleuser"]["extraEnv"][f"LABKIT_{name.upper()}"] == f"{url}/services/{name}/"


def test_a_class_file_as_the_templates_write_it_can_be_read(tmp_path):
    import json

    file = values()["hub"]["extraFiles"]["classroom"]
    (tmp_path / Path(file["mountPath"]).name).write_text(json.dumps(file["data"]))
    assert Classroom.load(tmp_path).everybody == ("ada", "bob", "tess")


def test_the_errors_that_the_guide_names_are_those_of_the_code():
    code = "".join(path.read_text("utf-8") for path in sorted((ROOT / "labkit").rglob("*.py")))
    plain = re.sub(r'"\s*\n\s*f?"', "", code)  # strings over two lines, joined
    table = GUIDE.partition("## When things break")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(named) >= 10
    examples = {
        "10.0.0.9": "",
        "8000": "",
        "127.0.0.1": "",
        "120 MiB": "MiB",
        "/srv/class": "",
        "/root": "",
        "ada": "",
        "...": "",
    }
    for line in named:
        parts = re.split("|".join(map(re.escape, examples)), line)
        for part in parts:
            words = part.strip(" :;,")
            assert words in plain, f"{line!r}: {words!r} is said nowhere"
