"""Which releases of torch and Triton are there, without importing either."""

from __future__ import annotations

import re
from importlib import metadata

from kernlint.errors import UsageError

#: Releases of Triton that `verify` knows how to drive.
OLDEST = (3, 2)
NEWEST = (3, 9)

#: The release of numpy that makes no number of an array of one element, which older interpreters ask for.
STRICT_NUMPY = (2, 4)
INTERPRETER_TAKES_ANY = (3, 7)

INSTALL = "pip install 'kernlint[verify]'"


def require(
    torch: str | None = None, triton: str | None = None, what: str = "verify runs the kernel"
) -> tuple[str, str]:
    """The installed releases of torch and Triton, or those given; ``what`` needs them.

    Raises ``UsageError``: one is not installed, or Triton's is not between ``OLDEST`` and ``NEWEST``.
    """
    torch = torch or installed("torch")
    triton = triton or installed("triton") or installed("pytorch-triton") or installed("pytorch-triton-rocm")
    missing = [name for name, version in (("torch", torch), ("triton", triton)) if version is None]
    if torch is None or triton is None:
        raise UsageError(f"{what} and needs {' and '.join(missing)}: {INSTALL}")
    release = _release(triton)
    if release is None or not OLDEST <= release <= NEWEST:
        oldest, newest = f"{OLDEST[0]}.{OLDEST[1]}", f"{NEWEST[0]}.{NEWEST[1]}"
        raise UsageError(
            f"verify works with Triton {oldest} to {newest}; {triton} is installed (pip install 'triton=={newest}.*')"
        )
    return torch, triton


def require_numpy(triton: str, numpy: str | None = None) -> None:
    """Raises ``UsageError`` where Triton's interpreter finds no numpy, or one that it does not work with: the release
    installed, or the one given."""
    numpy = numpy or installed("numpy")
    if numpy is None:
        raise UsageError(f"without a GPU verify uses Triton's interpreter, which needs numpy: {INSTALL}")
    release, found = _release(triton), _release(numpy)
    if release is not None and release < INTERPRETER_TAKES_ANY and found is not None and found >= STRICT_NUMPY:
        strict = ".".join(map(str, STRICT_NUMPY))
        raise UsageError(
            f"the interpreter of Triton {triton} does not work with numpy {numpy}: pip install 'numpy<{strict}'"
        )


def installed(name: str) -> str | None:
    """The version of the distribution called ``name``; None where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _release(version: str) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", version)
    return None if found is None else (int(found[1]), int(found[2]))
