import os

import pytest

from kernlint.errors import SourceError
from kernlint.syntax.source import MAX_BYTES, decode_source, read_source, split_lines


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"x = 1\n", "x = 1\n", id="plain"),
        pytest.param(b"\xef\xbb\xbfx = 1\n", "x = 1\n", id="a byte-order mark is not a column"),
        pytest.param(b"x = 1\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n", id="CRLF is kept, so that byte offsets hold"),
        pytest.param(b"# -*- coding: latin-1 -*-\n# \xe9\n", "# -*- coding: latin-1 -*-\n# \xe9\n", id="coding line"),
        pytest.param("# é\n".encode(), "# é\n", id="UTF-8"),
    ],
)
def test_decodes(data, text):
    assert decode_source(data, "k.py").text == text


@pytest.mark.parametrize(
    ("data", "part"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b" \n\t\n", "empty", id="white space only"),
        pytest.param(b"\xef\xbb\xbf", "empty", id="byte-order mark only"),
        pytest.param(b"\x7fELF\0\0\0", "binary", id="binary"),
        pytest.param("x = 1".encode("utf-16"), "binary", id="UTF-16"),
        pytest.param(b"x = 1\ny = '\xe9'\n", "k.py:2: not utf-8", id="latin-1 without a coding line"),
        pytest.param(b"# coding: klingon\n", "unknown encoding: klingon", id="unknown coding"),
        pytest.param(
            b"# coding: rot13\nx = 1\n", "'rot13' is not a text encoding", id="a coding that is no text encoding"
        ),
        pytest.param(b"\xef\xbb\xbf# coding: latin-1\n", "encoding problem", id="mark contradicts coding line"),
        pytest.param(b"#" * (MAX_BYTES + 1), "larger than 8 MB", id="huge"),
    ],
)
def test_refuses(data, part):
    with pytest.raises(SourceError) as caught:
        decode_source(data, "k.py")
    message = str(caught.value)
    assert part in message
    assert message.startswith("k.py")
    assert "\n" not in message


def test_missing_directory_and_bad_names(tmp_path):
    with pytest.raises(SourceError, match="no such file"):
        read_source(str(tmp_path / "none.py"))
    with pytest.raises(SourceError, match="is a directory"):
        read_source(str(tmp_path))
    with pytest.raises(SourceError, match="not a file name"):
        read_source("a\0b")
    with pytest.raises(SourceError, match="cannot be read"):
        read_source("x" * 5000)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path):
    path = tmp_path / "k.py"
    path.write_text("x = 1\n")
    path.chmod(0)
    with pytest.raises(SourceError, match="permission denied"):
        read_source(str(path))


def test_lines_end_where_python_ends_them():
    assert split_lines("a\r\nb\rc\nd\x0ce\u2028f") == ["a", "b", "c", "d\x0ce\u2028f"]
