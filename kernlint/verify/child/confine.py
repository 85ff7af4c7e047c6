"""Shuts the process in before it runs code that is only to be watched: no writing outside a folder, no network, no processes.

Three barriers, each where the system has it: Landlock (Linux 5.13) for files, a seccomp filter for sockets, and for both, and
for processes, a hook on what Python itself reports, which also says in plain words what was refused. None can be taken down again.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from contextlib import suppress
from typing import Any

_NO_NEW_PRIVS = 38
_SET_SECCOMP = 22
_SECCOMP_FILTER = 2
_LANDLOCK = (444, 445, 446)  # create_ruleset, add_rule, restrict_self: the same numbers everywhere
#: Of Landlock's rights those that write; later versions of it know more of them.
_WRITES = 0x1FF2
_REFER, _TRUNCATE = 1 << 13, 1 << 14
#: (architecture for audit, numbers of socket and io_uring_setup) by machine.
_SYSCALLS = {"x86_64": (0xC000003E, (41, 425)), "aarch64": (0xC00000B7, (198, 425))}
_ERRNO_EACCES = 13

_PROCESSES = frozenset(
    "subprocess.Popen os.system os.exec os.posix_spawn os.fork os.forkpty os.spawn os.startfile pty.spawn".split()
)
_NETWORK = frozenset(
    "socket.__new__ socket.connect socket.bind socket.sendto socket.sendmsg socket.getaddrinfo socket.gethostbyname".split()
)
#: Events that name a path (or two) which is written.
_CHANGES = frozenset(
    "os.remove os.rename os.mkdir os.rmdir os.link os.symlink os.truncate os.chmod os.chown os.utime os.setxattr "
    "os.removexattr shutil.rmtree shutil.move shutil.copyfile sqlite3.connect".split()
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SINKS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


def confine(folder: str) -> None:
    """Let this process, and what it may start, write in ``folder`` only, open no connection and start no process."""
    folder = os.path.realpath(folder)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError, ValueError):
            libc = ctypes.CDLL(None, use_errno=True)
            libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
            _close_files(libc, folder)
            _close_sockets(libc)
    sys.addaudithook(_Watch(folder))


def _close_files(libc: Any, folder: str) -> None:
    create, add, restrict = _LANDLOCK
    version = libc.syscall(create, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return
    rights = _WRITES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    rules = libc.syscall(create, struct.pack("<Q", rights), ctypes.c_size_t(8), 0)
    if rules < 0:
        return
    try:
        # Of a file only some of the rights make sense.
        for path, allowed in ((folder, rights), ("/dev/null", rights & (1 << 1 | _TRUNCATE))):
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                libc.syscall(add, rules, 1, struct.pack("<Qi", allowed, descriptor), 0)
            finally:
                os.close(descriptor)
        libc.syscall(restrict, rules, 0)
    finally:
        os.close(rules)


def _close_sockets(libc: Any) -> None:
    known = _SYSCALLS.get(platform.machine())
    if known is None:
        return
    architecture, numbers = known
    load, equal, back = 0x20, 0x15, 0x06
    refuse, allow = 0x00050000 | _ERRNO_EACCES, 0x7FFF0000
    steps = [(load, 0, 0, 4), (equal, 0, len(numbers) + 1, architecture), (load, 0, 0, 0)]
    steps += [(equal, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    steps += [(back, 0, 0, allow), (back, 0, 0, refuse)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("<H6xQ", len(steps), ctypes.addressof(code)))
    libc.prctl(_SET_SECCOMP, _SECCOMP_FILTER, ctypes.c_void_p(ctypes.addressof(program)), 0, 0)


class _Watch:
    """The hook. It keeps what it needs to itself, so that code under watch finds nothing to change."""

    def __init__(self, folder: str) -> None:
        self._folder = folder + os.sep

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (
                isinstance(flags, int) and flags & _WRITING
            )
            if writes and not isinstance(path, int):
                self._check(path)
        elif event in _PROCESSES:
            raise PermissionError(f"{event}: a trace starts no process")
        elif event in _NETWORK:
            raise PermissionError(f"{event}: a trace has no network")
        elif event in _CHANGES:
            for path in args[:2] if event in ("os.rename", "os.link", "shutil.move") else args[:1]:
                if isinstance(path, (str, bytes, os.PathLike)):
                    self._check(path)

    def _check(self, path: Any) -> None:
        name = os.path.abspath(os.fsdecode(path))
        if name in _SINKS or (os.path.realpath(os.path.dirname(name)) + os.sep).startswith(self._folder):
            return
        raise PermissionError(f"a trace writes nothing: {name}")
