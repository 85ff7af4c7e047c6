"""One child process for code that is not trusted to end: a session of its own, limits, a folder of its own, no way out.

The child reports through a file, one JSON object a line, as it goes: what it had found before it died is not lost.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from kernlint.records import dataclass
from kernlint.sandbox import memory_of, signal_name

#: What of the user's environment the child gets: how to find programs, libraries, devices and compilers.
_KEPT = frozenset(
    "PATH LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH LANG LC_ALL LC_CTYPE TZ CC CXX CUDA_HOME CUDA_PATH CUDA_VISIBLE_DEVICES "
    "CUDA_DEVICE_ORDER HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES ROCM_HOME ROCM_PATH NVIDIA_VISIBLE_DEVICES "
    "NVIDIA_DRIVER_CAPABILITIES TRITON_LIBCUDA_PATH TRITON_PTXAS_PATH TRITON_CUOBJDUMP_PATH TRITON_NVDISASM_PATH "
    "OMP_NUM_THREADS MKL_NUM_THREADS SYSTEMROOT".split()
)

#: How often the watch looks, and what it stands for more than that many processes.
_LOOK_S = 0.05
MAX_PROCESSES = 400
#: Of the result file at a time, while the child runs.
_LOOK_BYTES = 1 << 20
#: A file that is larger is no result of a kernel.
_MAX_FILE_BYTES = 4 << 30
#: Address space of libraries and of stacks of threads, hardly any of it resident.
_MAPPED_BYTES = 12 << 30
#: Of what the child prints, the end is kept.
_TAIL_BYTES = 8_192
#: Kills until the whole family is gone.
_KILLS = 50

#: Runs in the child before anything else: limits that cannot be raised again, then the program.
_START = """
import json, os, sys
with open("job.json") as file:
    job = json.load(file)
for path in job["sandbox"]["path"]:
    if path not in sys.path:
        sys.path.append(path)
from kernlint.verify.child.limits import apply
apply(job["sandbox"])
from importlib import import_module
module, _, function = job["sandbox"]["call"].partition(":")
getattr(import_module(module), function)(job, "results.jsonl")
"""


@dataclass(frozen=True)
class Limits:
    """What the child may have: wall time in ``seconds``, resident ``memory_bytes`` of all its processes together, and, where
    ``address_space`` is set, a bound on the address space of each, which stops what asks for all memory at once. CUDA
    reserves far more address space than it uses, so that only children without a GPU can have the latter."""

    seconds: float = 120.0
    memory_bytes: int = 8 << 30
    address_space: bool = True


@dataclass(frozen=True)
class Ended:
    """How the child ended. ``how`` is finished, crashed, timeout, memory or processes; ``detail`` says more in words;
    ``events`` are the objects that it reported before, ``output`` the end of what it printed."""

    how: str
    detail: str
    events: tuple[Mapping[str, Any], ...]
    output: str
    seconds: float

    @property
    def finished(self) -> bool:
        return self.how == "finished"


def run_child(
    job: Mapping[str, Any],
    files: Mapping[str, str],
    limits: Limits,
    call: str,
    told: Callable[[Mapping[str, Any]], None] | None = None,
) -> Ended:
    """Run ``call`` ("module:function", called with the job and the result file) in a child process, in a temporary folder
    that holds ``files`` (relative name to text). Whatever the child does, this returns, and none of its processes is left.
    ``told`` is called with each event as it comes, and in between with ``{"event": "waiting"}``."""
    token = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="kernlint-verify-", ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        for name in ("tmp", "home", "cache"):
            (root / name).mkdir()
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(text.encode("utf-8", "surrogatepass"))
        settings = {
            "path": [str(Path(__file__).parents[2])],
            "call": call,
            "address_space_bytes": limits.memory_bytes + _MAPPED_BYTES if limits.address_space else None,
            "file_bytes": _MAX_FILE_BYTES,
            # What ends the child if kernlint is killed: generous, since threads add up.
            "processor_s": int(limits.seconds * (os.cpu_count() or 1)) + 60,
        }
        (root / "job.json").write_text(json.dumps({**job, "sandbox": settings}))
        started = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, "-c", _START],
            cwd=root,
            env=_environment(root, token),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert child.stdout is not None
        tail = bytearray()
        reader = threading.Thread(target=_drain, args=(child.stdout, tail), daemon=True)
        reader.start()
        how = detail = ""
        try:
            how, detail = _watch(child, limits, token, started, _Follower(root / "results.jsonl", told))
        finally:
            _kill_family(child.pid, token)
            child.wait()
            reader.join(1.0)
        events = tuple(_events(root / "results.jsonl"))
        if not how:
            how, detail = _ending(child.returncode, events)
        return Ended(how, detail, events, tail.decode("utf-8", "replace"), time.monotonic() - started)


def _environment(root: Path, token: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    own = {
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "TRITON_CACHE_DIR": str(root / "cache" / "triton"),
        "TRITON_HOME": str(root / "cache"),
        "TORCHINDUCTOR_CACHE_DIR": str(root / "cache" / "inductor"),
        "XDG_CACHE_HOME": str(root / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "KERNLINT_SANDBOX": token,
    }
    with suppress(Exception):  # packages in the user's own site folder are found through HOME
        own["PYTHONUSERBASE"] = site.getuserbase()
    return kept | own


def _drain(stream: IO[bytes], tail: bytearray) -> None:
    """Read all that the child prints, so that it never waits for a reader, and keep the end of it."""
    with suppress(OSError, ValueError), stream:
        while chunk := stream.read1(65_536):  # type: ignore[attr-defined]
            tail += chunk
            if len(tail) > 2 * _TAIL_BYTES:
                del tail[:-_TAIL_BYTES]


class _Follower:
    """Passes on what a result file gains."""

    def __init__(self, path: Path, told: Callable[[Mapping[str, Any]], None] | None) -> None:
        self.path, self.told, self.seen = path, told, 0

    def look(self) -> None:
        if self.told is None:
            return
        try:
            with open(self.path, "rb") as file:
                file.seek(self.seen)
                data = file.read(_LOOK_BYTES)
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self.seen += len(whole)
        for event in (*_objects(whole), {"event": "waiting"}):
            self.told(event)


def _watch(
    child: subprocess.Popen[bytes], limits: Limits, token: str, started: float, follower: _Follower
) -> tuple[str, str]:
    """Wait for the child; why it had to be stopped, in one word and in a sentence, empty where it ended by itself."""
    while True:
        follower.look()
        try:
            child.wait(_LOOK_S)
            return "", ""
        except subprocess.TimeoutExpired:
            pass
        if time.monotonic() - started > limits.seconds:
            return "timeout", f"it ran longer than {limits.seconds:g} s and was stopped"
        family = list(_family(child.pid, token))
        if len(family) > MAX_PROCESSES:
            return "processes", f"it started more than {MAX_PROCESSES} processes and was stopped"
        used = sum(memory_of(pid) for pid in family)
        if used > limits.memory_bytes:
            return "memory", f"it used more than {limits.memory_bytes >> 20} MB of memory and was stopped"


def _death(by: str) -> str:
    """What to say of a process that the signal ``by`` has ended."""
    outside = by in ("SIGSEGV", "SIGBUS")
    return f"the process died of {by}" + ", as of an access outside of a tensor, or to one without elements" * outside


def _ending(status: int, events: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    if events and events[-1].get("event") == "end":
        return "finished", ""
    if status < 0:
        return "crashed", _death(signal_name(-status))
    return "crashed", f"the process ended early, with status {status}"


def _events(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of the result file; a line that was not finished, or is no object, is left out."""
    try:
        with open(path, "rb") as file:
            data = file.read(64 << 20)
    except OSError:
        return
    yield from _objects(data)


def _objects(data: bytes) -> Iterator[Mapping[str, Any]]:
    for line in data.decode("utf-8", "replace").splitlines():
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event


# -- the family of a child --------------------------------------------------------------------------------------------


def _family(session: int, token: str) -> Iterator[int]:
    """The processes of the session, and those that left it but still carry the token in their environment."""
    mark = f"KERNLINT_SANDBOX={token}".encode()
    try:
        names = os.listdir("/proc")
    except OSError:  # no procfs: the session leader is all there is to see
        yield session
        return
    for name in names:
        if name.isdigit() and (_session_of(name) == session or _carries(name, mark)):
            yield int(name)


def _session_of(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    # A zombie holds nothing; its parent, or init, will collect it.
    return None if len(fields) < 4 or fields[0] == b"Z" else int(fields[3])


def _carries(pid: str, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read()
    except OSError:
        return False


def _kill_family(session: int, token: str) -> None:
    """Kill every process of the child. The group dies in one step, which no fork can outrun; those that left it are then
    looked for until none is found."""
    for _ in range(_KILLS):
        with suppress(OSError):
            os.killpg(session, signal.SIGKILL)
        left = [pid for pid in _family(session, token) if pid != os.getpid()]
        if not left:
            return
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
