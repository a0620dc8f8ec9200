"""JupyterHub's configuration for a labkit class: what `labkit hub` runs, and the template for a hub of your own.

Read top to bottom. Everything that a class decides comes from `Classroom` (DIR/classroom.json, named by
LABKIT_CLASSROOM); on The Littlest JupyterHub or Kubernetes write the values in place (see docs/classroom.md).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from labkit.hub import kernel_provisioner, running
from labkit.hub.classroom import Classroom

c: Any = get_config()  # type: ignore[name-defined] # noqa: F821 - JupyterHub defines it

classroom = Classroom.load(Path(os.environ["LABKIT_CLASSROOM"]))
place = classroom.place
python = Path(sys.executable)
ports = [int(port) for port in os.environ["LABKIT_HUB_PORTS"].split(",")]  # free ones, found by `labkit hub`
own_accounts = classroom.accounts == "own"

# Addresses. The hub and its services listen on this machine alone; people reach the proxy.
c.JupyterHub.bind_url = classroom.address
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{ports[0]}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{ports[1]}"
c.ConfigurableHTTPProxy.command = [os.environ["LABKIT_HUB_PROXY"]]
c.ConfigurableHTTPProxy.pid_file = str(place / "proxy.pid")

# State.
c.JupyterHub.db_url = f"sqlite:///{place}/{running.DATABASE}"
c.JupyterHub.cookie_secret_file = str(place / "cookie_secret")
c.JupyterHub.cleanup_servers = True  # a hub that ends takes its learners' servers along; files stay
c.JupyterHub.concurrent_spawn_limit = 0  # no limit: a class comes at once, and whoever is over one gets an error page

# Who may come in. Nobody who isn't named here.
c.Authenticator.allowed_users = set(classroom.everybody)
c.Authenticator.allow_existing_users = False  # nor who was named once
c.Authenticator.admin_users = set()  # teachers need no rights over the hub itself
if own_accounts:
    c.JupyterHub.authenticator_class = "pam"
    c.PAMAuthenticator.open_sessions = False  # no systemd session per learner
else:
    c.JupyterHub.authenticator_class = "shared-password"
    c.SharedPasswordAuthenticator.user_password = os.environ["LABKIT_HUB_PASSWORD"]

# A learner's server.
c.JupyterHub.spawner_class = f"labkit.hub.spawner.{'LearnerSpawner' if own_accounts else 'TryOutSpawner'}"
spawner = c.LearnerSpawner if own_accounts else c.TryOutSpawner
spawner.address_space_mib = classroom.memory_mib
if own_accounts:
    spawner.processes = classroom.processes
c.Spawner.cmd = [str(python.parent / "jupyterhub-singleuser")]
c.Spawner.start_timeout = 180
c.Spawner.http_timeout = 120
c.Spawner.mem_limit = classroom.memory_mib * 2**20  # shown to the learner; the spawner above makes it hold
c.Spawner.args = [
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
    "--ServerApp.websocket_ping_interval=30000",
    "--ServerApp.terminado_settings=shell_command=/bin/bash",  # no login shell, which would set PATH anew
]

# The course: a git repository. nbgitpuller brings it into each learner's own directory, and merges later updates.
link = {
    "repo": f"file://{place}/course/labkit-course",
    "branch": "main",
    "targetPath": "labkit-course",
    "urlpath": "lab/tree/labkit-course/notebooks/00_start_here.ipynb",
}
c.Spawner.default_url = f"/git-pull?{urlencode(link)}"
environment = {
    "GIT_CONFIG_SYSTEM": str(place / "course" / "gitconfig"),  # git trusts the course although another account owns it
    "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",  # `labkit` in a terminal
    "OMP_NUM_THREADS": "1",  # workers and ranks share the cores
    "JUPYTER_CONFIG_PATH": str(place / "course" / "jupyter"),  # no teacher's tools and no news in a learner's Lab
    "LABKIT_BOARD": f"http://127.0.0.1:{ports[2]}/services/board/",
    "LABKIT_INBOX": f"http://127.0.0.1:{ports[3]}/services/inbox/",
}
if "LABKIT_COURSE_KEY" in os.environ:
    environment["LABKIT_COURSE_KEY"] = os.environ["LABKIT_COURSE_KEY"]
if classroom.fork_kernels:
    environment[kernel_provisioner.VARIABLE] = kernel_provisioner.NAME
    c.Spawner.args += [f"--ServerApp.jpserver_extensions={kernel_provisioner.EXTENSION}=True"]
c.Spawner.environment = environment

# Services: the progress board and the inbox for hand-ins, for people who are logged in; the culler of idle servers.
classroom_environment = {"LABKIT_CLASSROOM": str(place), "PYTHONUNBUFFERED": "1"}
c.JupyterHub.services = [
    {
        "name": name,
        "url": f"http://127.0.0.1:{port}",
        "command": [str(python), "-m", f"labkit.hub.{name}"],
        "environment": classroom_environment,
        "oauth_no_confirm": True,
        "oauth_client_allowed_scopes": [f"access:services!service={name}", f"custom:{name}:teach"],
    }
    for name, port in (("board", ports[2]), ("inbox", ports[3]))
]
c.JupyterHub.services += [
    {
        "name": "culler",
        "command": [str(python), "-m", "jupyterhub_idle_culler", f"--timeout={classroom.cull_minutes * 60}"],
    }
]

# Rights: roles, each no wider than its work.
c.JupyterHub.custom_scopes = {
    "custom:board:teach": {"description": "See every learner's progress on the board"},
    "custom:inbox:teach": {"description": "Collect every learner's hand-ins and return feedback"},
}
learn = [f"access:services!service={name}" for name in ("board", "inbox")]
teach = ["custom:board:teach", "custom:inbox:teach"]
c.JupyterHub.load_groups = {
    "learners": {"users": list(classroom.learners)},
    "teachers": {"users": list(classroom.teachers)},
}
c.JupyterHub.load_roles = [
    {"name": "learner", "groups": ["learners"], "scopes": learn},
    {"name": "teacher", "groups": ["teachers"], "scopes": [*learn, *teach]},
    # What a server's own token may do: a kernel reports to the board and hands in, in its learner's name.
    {
        "name": "server",
        "scopes": ["users:activity!user", "access:servers!server", "read:users:groups!user", *learn, *teach],
    },
    {
        "name": "culler",
        "services": ["culler"],
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
    },
]
