"""Programs that import kernlint, each in a process of its own, without the second or more that the imports take.

One process for all tests of a worker has imported kernlint, and is forked for each program: the fork gets the arguments, environment,
folder and standard streams, and ends as a process does that was started. An interpreter is started all the same for what is about
its start or its imports: code given with `-c`, other settings of the interpreter, and systems that cannot fork.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import IO, NoReturn

KERNLINT = ("-m", "kernlint")

_CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")
_NUMBER = struct.Struct("i")


def run(
    arguments: Sequence[object],
    *,
    input: bytes = b"",
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: int | IO[bytes] = subprocess.PIPE,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 240,
) -> subprocess.CompletedProcess[bytes]:
    """What ``subprocess.run`` says of this Python with ``arguments``, which begin with `-m`, `-c` or the path of a program."""
    given, environment = (
        [os.fsdecode(one) if isinstance(one, os.PathLike) else str(one) for one in arguments],
        dict(env or os.environ),
    )
    outputs = stdout, stderr
    if not _CAN_FORK or given[0] == "-c" or _set_at_start(environment) != _set_at_start(os.environ):
        command = [sys.executable, *given]
        return subprocess.run(
            command, input=input, stdout=stdout, stderr=stderr, cwd=cwd, env=environment, timeout=timeout, check=False
        )
    with ExitStack() as opened:
        request, stdin = (opened.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        request.write(json.dumps([given, os.fsdecode(cwd or os.getcwd()), environment]).encode())
        stdin.write(input)
        for file in (request, stdin):
            file.seek(0)
        beside = opened.enter_context(ThreadPoolExecutor(2))
        pipes = {place: os.pipe() for place, stream in enumerate(outputs) if stream == subprocess.PIPE}
        said = {place: beside.submit(_all_from, ours) for place, (ours, _) in pipes.items()}
        ends = [pipes[place][1] if place in pipes else stream for place, stream in enumerate(outputs)]
        try:
            status = _status([request, stdin, *ends], given, timeout)
        finally:
            for _, end in pipes.values():
                os.close(end)
        return subprocess.CompletedProcess(given, status, *(said[n].result() if n in said else None for n in range(2)))


def _all_from(pipe: int) -> bytes:
    with open(pipe, "rb") as file:
        return file.read()


def _set_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """What an interpreter reads when it starts; the encoding of streams can be set later."""
    return {k: v for k, v in environment.items() if k.startswith("PYTHON") and k != "PYTHONIOENCODING"}


def _status(files: Sequence[int | IO[bytes]], arguments: list[str], timeout: float) -> int:
    """The status of the program that is given these ``files``: what is asked, and its standard streams."""
    warm = _warm_process()
    socket.send_fds(warm, [b"!"], [file if isinstance(file, int) else file.fileno() for file in files])
    pid = _received(warm)
    warm.settimeout(timeout)
    try:
        return _received(warm)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        warm.settimeout(None)
        _received(warm)
        raise subprocess.TimeoutExpired(arguments, timeout) from None
    finally:
        warm.settimeout(None)


def _received(warm: socket.socket) -> int:
    (number,) = _NUMBER.unpack(warm.recv(_NUMBER.size))
    return int(number)


@cache
def _warm_process() -> socket.socket:
    """Our end of what connects us with the process, which ends when we close it."""
    ours, its = socket.socketpair()
    command = [sys.executable, __file__, str(its.fileno())]
    with its:  # Ctrl-C is for us: it has a session of its own
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[its.fileno()], start_new_session=True)
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _serve(tests: socket.socket) -> None:
    """Become a program for each request; say its process at once, and its status at its end."""
    _import_kernlint()
    while True:
        asked, files, _, _ = socket.recv_fds(tests, 1, 4)
        if not asked:
            return
        pid = os.fork()
        if pid == 0:
            tests.close()
            _become(*files)
        for file in files:
            os.close(file)
        tests.send(_NUMBER.pack(pid))
        tests.send(_NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))


def _import_kernlint() -> None:
    """Import what the commands import, by doing once what they do."""
    from support.fixes import LOADS, gemm

    from kernlint.analysis import answer
    from kernlint.cli import check_command, explain_command, fix_command, rule_command, verdict_command  # noqa: F401
    from kernlint.lint.check_file import check_file
    from kernlint.lint.job import Job
    from kernlint.lint.pool import prepare
    from kernlint.lint.settings import FileSettings
    from kernlint.request import Request
    from kernlint.rules.registry import all_rules

    source = gemm(LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))")
    prepare()
    answer(Request(source, path="k.py"))
    check_file(Job("k.py", source.encode(), FileSettings(frozenset(rule.code for rule in all_rules())), fixes=True))
    gc.collect()
    gc.freeze()


def _become(request: int, *streams: int) -> NoReturn:
    """The program, as Python runs it."""
    with open(request, "rb") as file:
        arguments, folder, environment = json.load(file)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    encoding, _, errors = environment.get("PYTHONIOENCODING", f"{sys.stdout.encoding}:{sys.stdout.errors}").partition(
        ":"
    )
    text = {"encoding": encoding or sys.stdout.encoding, "errors": errors or "strict", "closefd": False}
    sys.stdin, sys.stdout = open(0, **text), open(1, "w", **text)  # noqa: SIM115 - until the end
    sys.stderr = open(2, "w", buffering=1, **{**text, "errors": "backslashreplace"})  # noqa: SIM115
    status = 0
    try:
        if arguments[0] == "-m":
            sys.path[0], sys.argv = folder, arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0], sys.argv = str(Path(arguments[0]).parent), arguments
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).parents[1]))
    _serve(socket.socket(fileno=int(sys.argv[1])))
