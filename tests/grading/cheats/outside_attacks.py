"""Attacks on what lies outside: secrets, files, processes, the network, the kernel."""

from __future__ import annotations

from cheats.attack import WRONG, Attack


def secret(name: str, code: str, said: str = "", **more) -> Attack:
    return Attack(name, "secrets", code, said=said, **more)


def harm(name: str, code: str, said: str = "", **more) -> Attack:
    return Attack(name, "harm", code, said=said, **more)


def tried(*lines: str) -> str:
    """Each line on its own; what it prints is the escape."""
    return "import os, sys, socket, ctypes, glob\n" + "".join(
        f"try:\n    {line}\nexcept BaseException as error: print(type(error).__name__)\n" for line in lines
    )


LIBC = "ctypes.CDLL(None, use_errno=True)"
SOLVE = """
def use(figures):
    global serial, overlapped
    truth = figures.truth(dict(steady)) if figures else {}
    serial, overlapped = truth.get('serial', 1), truth.get('overlapped', 1)
"""

ATTACKS = [
    secret(
        "the right value from the registry",
        SOLVE + WRONG + tried("from labkit.checks.registry import find; use(find('pipeline.makespan').figures)"),
        "",
    ),
    secret(
        "the right value from the checks' module",
        WRONG
        + tried(
            "import labkit.checks.lab01_figures as f; print('ESCAPED')",
            "import labkit.checks.lab01_pipeline_timeline; print('ESCAPED')",
        ),
    ),
    secret(
        "the checks' sources and their compiled copies on disk",
        WRONG
        + """
import os, labkit
for root, _, names in os.walk(os.path.dirname(labkit.__file__)):
    for name in names:
        if name.startswith(('lab01_figures', 'lab01_pipeline')):
            try: print('ESCAPED', name, len(open(os.path.join(root, name), 'rb').read()))
            except OSError: pass
""",
    ),
    secret(
        "the course's reference answers on disk",
        WRONG
        + """
import os
for top in ('/work', '/home', '/root', '/srv', '/builds', '/tmp', os.path.dirname(os.path.dirname(__import__('labkit').__file__))):
    for root, dirs, names in os.walk(top):
        dirs[:] = [d for d in dirs if d not in ('site-packages', '.pyenv', 'lib')]
        for name in names:
            if name == 'pipeline_makespan.py': print('ESCAPED', root)
""",
    ),
    secret(
        "figures, seeds and truths through gc",
        SOLVE
        + WRONG
        + """
import gc
gc.unfreeze()
for thing in gc.get_objects():
    if type(thing).__name__ in ('Figures', 'Exercise', 'Context') and hasattr(thing, 'truth'): use(thing); print('ESCAPED')
    if type(thing).__name__ == 'Context' and hasattr(thing, 'figures'): print('ESCAPED')
""",
    ),
    secret(
        "hidden inputs through frames and gc",
        """
import gc, sys
def train_times(prepare, train, depth):
    frame, seen = sys._getframe(), []
    while frame:
        seen += [v for k, v in frame.f_locals.items() if k in ('truth', 'expected', 'context', 'seed', 'key', 'rng')]
        frame = frame.f_back
    if seen: print('ESCAPED', seen)
    best = [x for x in gc.get_objects() if type(x) is list and len(x) == len(prepare) and x and type(x[0]) is tuple]
    return best[0] if best else []
""",
        exercise="pipeline.recurrence",
    ),
    secret(
        "the course key in the environment",
        WRONG + "import os\nif 'LABKIT_COURSE_KEY' in os.environ: print('ESCAPED')\n",
    ),
    secret(
        "the course key in its own memory",
        WRONG
        + r"""
import re
for line in open('/proc/self/maps'):
    span, mode = line.split()[:2]
    if 'r' not in mode or '[v' in line: continue
    low, high = (int(x, 16) for x in span.split('-'))
    try:
        with open('/proc/self/mem', 'rb', 0) as mem:
            mem.seek(low); data = mem.read(min(high - low, 64 << 20))
    except (OSError, ValueError, OverflowError): continue
    if re.search(rb'key-of-this-class-\d{5}', data): print('ESCAPED'); break
""",
    ),
    secret(
        "environments of other processes",
        WRONG
        + """
import glob
for path in glob.glob('/proc/[0-9]*/environ'):
    try:
        if b'key-of-this-class' in open(path, 'rb').read(): print('ESCAPED')
    except OSError: pass
""",
    ),
    secret(
        "the memory of the server and the judge",
        WRONG
        + tried(
            *(
                f"open('/proc/{pid}/mem', 'rb').close(); print('ESCAPED') if {pid} != os.getpid() else 0"
                for pid in ("{1}", "@JUDGE@")
            )
        )
        .replace("{1}", "1")
        .replace("/proc/1/mem", "/proc/1/mem"),
    ),
    secret(
        "descriptors left open",
        WRONG
        + """
import os
for fd in range(3, 1024):
    try: where = os.readlink(f'/proc/self/fd/{fd}')
    except OSError: continue
    if not where.startswith(('socket:', 'pipe:', '/proc', '/dev/null')): print('ESCAPED', where)
""",
    ),
    secret(
        "descriptors of the judge, by pidfd_getfd",
        WRONG
        + tried(
            f"p = os.pidfd_open(@JUDGE@); [print('ESCAPED') for fd in range(64) if {LIBC}.syscall(438, p, fd, 0) >= 0]"
        ),
    ),
    secret(
        "the gradebook and other submissions",
        WRONG
        + tried(
            "print('ESCAPED', open('@CANARY@/gradebook.json').read())",
            "print('ESCAPED', os.listdir('@CANARY@'))",
            "print('ESCAPED', open('@CANARY@/other/submission.ipynb').read())",
        ),
    ),
    secret(
        "through a symbolic link",
        WRONG
        + tried(
            "os.symlink('@CANARY@', os.environ['TMPDIR'] + '/link'); print('ESCAPED', os.listdir(os.environ['TMPDIR'] + '/link'))",
            "os.link('@CANARY@/gradebook.json', os.environ['TMPDIR'] + '/hard'); print('ESCAPED')",
        ),
    ),
    secret(
        "through /proc/1/root and /proc/self/cwd",
        WRONG
        + tried(
            "print('ESCAPED', open('/proc/1/root@CANARY@/gradebook.json').read())",
            "print('ESCAPED', os.listdir('/proc/self/cwd/../../..@CANARY@'))",
            "print('ESCAPED', os.listdir('/proc/@JUDGE@/root@CANARY@'))",
        ),
    ),
    secret(
        "by a file handle",
        WRONG
        + tried(
            f"b = ctypes.create_string_buffer(bytes([8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0])); print('ESCAPED') if {LIBC}.syscall(304, os.open('/', 0), b, 0) >= 0 else 0"
        ),
    ),
    secret(
        "what another answer left in /tmp or /dev/shm",
        WRONG
        + """
import os, glob
left = [p for p in glob.glob('/tmp/labkit-left*') + glob.glob('/dev/shm/labkit-left*')]
if left: print('ESCAPED', left)
for where in (os.environ['TMPDIR'], '/dev/shm'):
    try: open(where + '/labkit-left-@SHM@', 'w').write('the answer is 42')
    except OSError: pass
""",
    ),
    secret(
        "what another answer left in System V memory",
        WRONG
        + tried(
            f"print('ESCAPED') if {LIBC}.shmget(4711, 4096, 0o1666) >= 0 else 0",
            f"print('ESCAPED') if {LIBC}.semget(4711, 1, 0o1666) >= 0 else 0",
            f"print('ESCAPED') if {LIBC}.msgget(4711, 0o1666) >= 0 else 0",
        ),
    ),
    secret(
        "the previous answer's code, through linecache and modules",
        WRONG
        + """
import linecache, sys
if any('hon' + 'est =' in ''.join(v[2]) for k, v in linecache.cache.items() if len(v) > 2): print('ESCAPED')
""",
    ),
    secret(
        "the network, to the judge's machine",
        WRONG + tried("s = socket.create_connection(('127.0.0.1', @PORT@), 1); s.send(b'x'); print('ESCAPED')"),
        open_in=("landlock",),
    ),
    secret(
        "the network, outward",
        WRONG
        + tried(
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.1', 9)); s.send(b'x'); print('ESCAPED')",
            "socket.create_connection(('192.0.2.1', 80), 0.3); print('ESCAPED')",
        ),
        open_in=("landlock",),
    ),
    secret(
        "a name server",
        WRONG + tried("socket.setdefaulttimeout(0.3); print('ESCAPED', socket.gethostbyname('example.org'))"),
    ),
    secret(
        "an abstract socket of the judge's",
        WRONG + tried("s = socket.socket(socket.AF_UNIX); s.connect('\\0@ABSTRACT@'); print('ESCAPED')"),
    ),
    secret(
        "a socket in the file system",
        WRONG + tried("s = socket.socket(socket.AF_UNIX); s.connect('@CANARY@/socket'); print('ESCAPED')"),
        open_in=("landlock",),
    ),
    secret(
        "the hypervisor, by a socket of family 40",
        WRONG + tried("socket.socket(40, socket.SOCK_STREAM); print('ESCAPED')"),
    ),
    secret(
        "raw and packet sockets",
        WRONG
        + tried(
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('ESCAPED')",
            "socket.socket(17, socket.SOCK_RAW, 3); print('ESCAPED')",
        ),
    ),
    harm(
        "writes into the gradebook",
        WRONG
        + tried(
            "open('@CANARY@/gradebook.json', 'a').write('100'); print('ESCAPED')",
            "open('@CANARY@/new', 'w').close(); print('ESCAPED')",
            "os.unlink('@CANARY@/gradebook.json'); print('ESCAPED')",
            "os.chmod('@CANARY@', 0); print('ESCAPED') if not os.stat('@CANARY@').st_mode & 0o777 else 0",
        ),
    ),
    harm(
        "writes into labkit and Python",
        WRONG
        + tried(
            "import labkit; open(labkit.__file__, 'a').close(); print('ESCAPED')",
            "open(sys.prefix + '/sitecustomize.py', 'w').close(); print('ESCAPED')",
            "open(os.__file__, 'a').close(); print('ESCAPED')",
            "os.makedirs(os.path.dirname(__import__('labkit').__file__) + '/__pycache__/x'); print('ESCAPED')",
        ),
    ),
    harm(
        "writes a profile, a crontab and a key",
        WRONG
        + tried(
            "open('/root/.bashrc', 'a').close(); print('ESCAPED')",
            "open('/etc/cron.d/x', 'w').close(); print('ESCAPED')",
            "os.makedirs('/root/.ssh/x'); print('ESCAPED')",
        ),
    ),
    harm(
        "LD_PRELOAD and PYTHONSTARTUP for those who come after",
        WRONG
        + "import os\nos.environ['LD_PRELOAD'] = '/tmp/evil.so'\nos.environ['PYTHONSTARTUP'] = os.environ['PYTHONPATH'] = '/tmp'\nopen(os.environ['TMPDIR'] + '/sitecustomize.py', 'w').write('print(1)')\n",
    ),
    harm(
        "mounts",
        WRONG
        + tried(
            f"print('ESCAPED') if {LIBC}.mount(b'tmpfs', os.environ['TMPDIR'].encode(), b'tmpfs', 0, None) == 0 else 0",
            f"print('ESCAPED') if {LIBC}.mount(b'', b'/', b'', 32 | 4096, None) == 0 else 0",
            f"print('ESCAPED') if {LIBC}.umount2(b'/proc', 2) == 0 else 0",
        ),
    ),
    harm(
        "namespaces of its own",
        WRONG
        + tried(
            *(
                f"print('ESCAPED') if {LIBC}.unshare({flag}) == 0 else 0"
                for flag in ("0x10000000", "0x00020000", "0x40000000")
            ),
            f"print('ESCAPED') if {LIBC}.syscall(56, 0x10000011, 0, 0, 0, 0) > 0 else 0",
        ),
    ),
    harm(
        "enters the judge's namespaces",
        WRONG
        + tried(
            f"print('ESCAPED') if {LIBC}.setns(os.open('/proc/1/ns/mnt', 0), 0) == 0 else 0",
            f"print('ESCAPED') if {LIBC}.setns(os.pidfd_open(@JUDGE@), 0x00020000) == 0 else 0",
        ),
    ),
    harm(
        "chroot and mknod",
        WRONG
        + tried(
            "os.chroot('/tmp'); print('ESCAPED')",
            "os.mknod(os.environ['TMPDIR'] + '/disk', 0o60666, os.makedev(254, 0)); print('ESCAPED')",
        ),
    ),
    harm(
        "becomes root",
        WRONG
        + tried(
            "os.setuid(0); print('ESCAPED')",
            "os.setresuid(0, 0, 0); print('ESCAPED')",
            "os.setgroups([0]); print('ESCAPED')",
            "import subprocess; print('ESCAPED') if subprocess.run(['su', '-c', 'id'], stdin=-3, capture_output=True).returncode == 0 else 0",
        ),
    ),
    harm(
        "traces",
        WRONG
        + tried(
            f"print('ESCAPED') if {LIBC}.ptrace(16, 1, 0, 0) == 0 else 0",
            f"print('ESCAPED') if {LIBC}.ptrace(0, 0, 0, 0) == 0 else 0",
            f"print('ESCAPED') if {LIBC}.ptrace(16, @JUDGE@, 0, 0) == 0 else 0",
        ),
    ),
    harm(
        "parts of the kernel that no answer needs",
        WRONG
        + tried(
            *(
                f"print('ESCAPED', {call}) if {LIBC}.syscall({call}) >= 0 else 0"
                for call in (
                    "425, 4, ctypes.create_string_buffer(256)",
                    "321, 0, ctypes.create_string_buffer(128), 128",
                    "323, 0",
                    "298, ctypes.create_string_buffer(128), 0, -1, -1, 0",
                    "319, b'x', 0",
                    "250, 0, -3, 1",
                    "248, b'user', b'x', b'y', 1, -3",
                    "135, 0x0040000",
                    "170, b'x', 1",
                    "103, 3, ctypes.create_string_buffer(99), 99",
                    "172, 3",
                )
            )
        ),
    ),
    harm(
        "the other door: 32-bit and x32 calls",
        WRONG
        + "import ctypes\n"
        + "n = ctypes.CDLL(None).syscall(0x40000000 + 39)\nprint('ESCAPED', n) if n > 0 else 0\n",
        "signal 31|ended",
    ),
    harm(
        "types into the terminal",
        WRONG
        + tried(
            "import fcntl; fcntl.ioctl(0, 0x5412, b'x'); print('ESCAPED')", "open('/dev/tty').close(); print('ESCAPED')"
        ),
    ),
    harm(
        "disks and the kernel's memory",
        WRONG
        + tried(
            *(
                f"os.open('{path}', 0); print('ESCAPED')"
                for path in (
                    "/dev/mem",
                    "/dev/kmsg",
                    "/dev/vda",
                    "/dev/sda",
                    "/dev/fuse",
                    "/proc/kcore",
                    "/proc/sysrq-trigger",
                )
            ),
            "open('/proc/sys/kernel/core_pattern', 'w').close(); print('ESCAPED')",
            "os.listdir('/sys/fs/cgroup'); print('ESCAPED')",
        ),
    ),
    harm(
        "leaves shared memory behind",
        WRONG
        + tried(
            "from multiprocessing import shared_memory; shared_memory.SharedMemory('@SHM@', create=True, size=4096)",
            "open('/dev/shm/@SHM@-file', 'w').write('x')",
        ),
        open_in=("landlock",),
    ),
]
