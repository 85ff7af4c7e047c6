import multiprocessing

import pytest

from kernlint.child import run_in_worker
from kernlint.errors import SourceError
from kernlint.syntax.source import decode_source, split_lines


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_results_and_errors_come_back(method, monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: [method])
    if method == "forkserver":
        pytest.skip("never chosen")
    assert run_in_worker(split_lines, {"text": "a\nb"}, 60) == ["a", "b"]
    with pytest.raises(SourceError, match=r"^k\.py: the file is empty$"):
        run_in_worker(decode_source, {"data": b"", "path": "k.py"}, 60)
