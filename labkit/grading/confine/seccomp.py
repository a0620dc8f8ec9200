"""A seccomp filter, written by hand: which system calls an answer may not make.

Refused, not allowed-listed: torch, gloo and DataLoader use some hundred calls, and more with every release. What is
refused here is what changes or leaves the place an answer runs in. A number above all that are known is refused too.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from labkit.grading.confine.syscalls import ARCH, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, prctl

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HIGHEST = 470  # file_setattr (469) is the last call of Linux 6.17
_X32 = 0x40000000

# name -> (x86_64, aarch64); -1 where the processor has no such call
REFUSED = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    # the file system as a whole
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "mknod": (133, -1),
    "mknodat": (259, 33),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    # namespaces
    "unshare": (272, 97),
    "setns": (308, 268),
    # large parts of the kernel that no answer needs
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "modify_ldt": (154, -1),
    "iopl": (172, -1),
    "ioperm": (173, -1),
    "personality": (135, 92),
    "lookup_dcookie": (212, 18),
    "uselib": (134, -1),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    # the machine
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "acct": (163, 89),
    "vhangup": (153, 58),
    # memory that no limit counts, or that outlives its process
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}
# Landlock guards none of these. They seem to succeed and do nothing: programs that copy files call them on the way.
NO_EFFECT = {
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}
_CLONE, _CLONE3, _SOCKET, _IOCTL = (56, 220), (435, 435), (41, 198), (16, 29)
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink (addresses are asked for over it); AF_VSOCK passes no namespace
_NEW_NAMESPACES = 0x7E020000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # typing into a terminal

_LOAD, _EQUAL, _ABOVE, _BITS, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NR, _AUDIT_ARCH, _ARGUMENT = 0, 4, 16  # places in struct seccomp_data; arguments have 8 bytes, low half first


def program(*, shared: bool = False) -> bytes:
    """The filter for this processor, as struct sock_filter. KeyError on one that isn't known.

    shared: for an answer that shares the system's files, kept from them by Landlock alone.
    """
    column = ARCH == "aarch64"
    lines = [_op(_LOAD, _AUDIT_ARCH), _op(_EQUAL, _AUDIT[ARCH], 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NR)]
    if not column:  # the x32 calls have numbers of their own
        lines += [_op(_BITS, _X32, 0, 1), _op(_RETURN, _KILL)]
    lines += [_op(_ABOVE, HIGHEST, 0, 1), _op(_RETURN, _ERRNO | errno.ENOSYS)]
    # clone3 hides its flags behind a pointer: "no such call" makes the C library use clone instead
    lines += [_op(_EQUAL, _CLONE3[column], 0, 1), _op(_RETURN, _ERRNO | errno.ENOSYS)]
    for pair in REFUSED.values():
        if pair[column] >= 0:
            lines += [_op(_EQUAL, pair[column], 0, 1), _op(_RETURN, _ERRNO | errno.EPERM)]
    for pair in NO_EFFECT.values() if shared else ():
        if pair[column] >= 0:
            lines += [_op(_EQUAL, pair[column], 0, 1), _op(_RETURN, _ERRNO)]
    lines += [_op(_EQUAL, _CLONE[column], 0, 4), _op(_LOAD, _ARGUMENT), _op(_BITS, _NEW_NAMESPACES, 0, 1)]
    lines += [_op(_RETURN, _ERRNO | errno.EPERM), _op(_RETURN, _ALLOW)]
    lines += [_op(_EQUAL, _IOCTL[column], 0, 5), _op(_LOAD, _ARGUMENT + 8)]
    lines += [_op(_EQUAL, _TIOCSTI, 1, 0), _op(_EQUAL, _TIOCLINUX, 0, 1), _op(_RETURN, _ERRNO | errno.EPERM)]
    lines += [_op(_RETURN, _ALLOW), _op(_EQUAL, _SOCKET[column], 0, 3 + len(_FAMILIES)), _op(_LOAD, _ARGUMENT)]
    for left, family in zip(range(len(_FAMILIES), 0, -1), _FAMILIES, strict=True):
        lines.append(_op(_EQUAL, family, left, 0))
    lines += [_op(_RETURN, _ERRNO | errno.EAFNOSUPPORT), _op(_RETURN, _ALLOW), _op(_RETURN, _ALLOW)]
    return b"".join(lines)


def _op(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, k)


def install(filter_: bytes) -> None:
    """Put a filter in force for this process and all that it starts; needs no_new_privs. Can't be undone."""
    lines = ctypes.create_string_buffer(filter_, len(filter_))
    head = struct.pack("HxxxxxxP", len(filter_) // 8, ctypes.addressof(lines))
    program_ = ctypes.create_string_buffer(head, len(head))  # both must live until the call is over
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program_))
