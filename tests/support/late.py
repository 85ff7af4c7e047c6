"""Modules that few tests need and that are dear to import: each process of the tests collects all of them and runs a part."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


class Late:
    """The module ``name``, imported when something in it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith(("__", "_pytest", "_mock")):  # asked by pytest of all that it collects
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


def needs(module: str, extra: str = "") -> pytest.MarkDecorator:
    """The mark of tests that are skipped where ``module`` is not installed."""
    reason = f"the extra `{extra}` is not installed" if extra else f"{module} is not installed"
    return pytest.mark.skipif(find_spec(module) is None, reason=reason)
