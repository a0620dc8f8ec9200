"""labkit on The Littlest JupyterHub. Written from its documentation, not run by labkit's tests.

Save as /opt/tljh/config/jupyterhub_config.d/labkit.py, then `sudo tljh-config reload`.

    sudo -E /opt/tljh/user/bin/pip install '/path/to/checkout[labs,grade]' nbgitpuller    # what learners run
    sudo /opt/tljh/hub/bin/pip install '/path/to/checkout[hub]'                           # the board and the inbox
    sudo tljh-config set limits.memory 3G                                       # systemd holds both
    sudo tljh-config set limits.cpu 2
    sudo tljh-config set services.cull.timeout 3600

PLACE/classroom.json names the class, as `labkit hub` writes it: {"learners": ["ada"], "teachers": ["tess"]}. PLACE
belongs to root with mode 0711; `labkit release --out` fills the repository that COURSE names.
"""

from pathlib import Path
from urllib.parse import urlencode

from labkit.course.variants import learner_key

PLACE = "/srv/class"
COURSE = "https://git.example/labkit-course"  # a released bundle in a repository that servers can reach
KEY = learner_key(Path("/root/course.key").read_bytes().strip()).decode()  # the key itself stays with the teacher
BOARD, INBOX = "http://127.0.0.1:10101", "http://127.0.0.1:10102"
LEARNERS, TEACHERS = ["ada", "bob"], ["tess"]

c = get_config()  # noqa: F821 - JupyterHub defines it

c.Authenticator.allowed_users = {*LEARNERS, *TEACHERS}
link = {"repo": COURSE, "branch": "main", "targetPath": "labkit-course",
        "urlpath": "lab/tree/labkit-course/notebooks/00_start_here.ipynb"}  # fmt: skip
c.Spawner.default_url = f"/git-pull?{urlencode(link)}"
c.Spawner.args = [
    "--ServerApp.jpserver_extensions=labkit.hub.kernel_provisioner=True",
    "--ServerApp.terminado_settings=shell_command=/bin/bash",  # no login shell, which would set PATH anew
]
c.Spawner.environment = {
    "LABKIT_COURSE_KEY": KEY,
    "LABKIT_BOARD": f"{BOARD}/services/board/",
    "LABKIT_INBOX": f"{INBOX}/services/inbox/",
    "JUPYTER_DEFAULT_PROVISIONER_NAME": "labkit-fork",  # kernels that start at once; leave out for ordinary ones
    "OMP_NUM_THREADS": "1",
}

c.JupyterHub.services += [
    {
        "name": name,
        "url": url,
        "command": ["/opt/tljh/hub/bin/python", "-m", f"labkit.hub.{name}"],
        "environment": {"LABKIT_CLASSROOM": PLACE},
        "oauth_no_confirm": True,
        "oauth_client_allowed_scopes": [f"access:services!service={name}", f"custom:{name}:teach"],
    }
    for name, url in (("board", BOARD), ("inbox", INBOX))
]
c.JupyterHub.custom_scopes = {
    "custom:board:teach": {"description": "See every learner's progress on the board"},
    "custom:inbox:teach": {"description": "Collect every learner's hand-ins and return feedback"},
}
learn = ["access:services!service=board", "access:services!service=inbox"]
teach = ["custom:board:teach", "custom:inbox:teach"]
c.JupyterHub.load_groups = {"learners": {"users": LEARNERS}, "teachers": {"users": TEACHERS}}
c.JupyterHub.load_roles += [
    {"name": "learner", "groups": ["learners"], "scopes": learn},
    {"name": "teacher", "groups": ["teachers"], "scopes": [*learn, *teach]},
    {
        "name": "server",
        "scopes": ["users:activity!user", "access:servers!server", "read:users:groups!user", *learn, *teach],
    },
]
