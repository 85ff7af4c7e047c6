"""Configuration files: where they are found, every key, every mistake."""

import json
import os

import jsonschema
import pytest

from kernlint.errors import UsageError
from kernlint.lint.config import Configurations, Overrides
from kernlint.lint.selection import Choice
from kernlint.schema import load

FULL = """
select = ["ALL"]
extend-select = ["KL101"]
ignore = ["KL2", "tiny-block"]
scope = "call"
device = "a100"
target-triton = "3.6"
include = ["*.py"]
exclude = ["old/"]
extend-exclude = ["generated/**"]
respect-gitignore = false
force-exclude = true
project = true
timeout = 5
baseline = "known.json"
fail-on = "error"
output-format = "concise"
per-file-ignores = { "tests/**" = ["KL1"], "bench_*.py" = ["ALL"] }
rules = { KL212 = { most-configurations = 64 }, tiling = { min-gain = 1.5 }, KL201 = { min-gain = 2 } }
severity = { KL3 = "info", KL301 = "error" }
references = { "kernels/*.py" = "ref.py" }
"""


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read(text, name="kernlint.toml", **options):
        (tmp_path / name).write_text(text)
        return Configurations(**options).of(str(tmp_path))

    return read


def test_every_key(settings, tmp_path):
    (tmp_path / "ref.py").write_text("")
    found = settings(FULL)
    assert found.source == str(tmp_path / "kernlint.toml")
    assert found.device.startswith("a100")
    assert (found.target_triton, found.timeout_s, found.fail_on) == ("3.6", 5.0, "error")
    assert found.baseline == str(tmp_path / "known.json")
    assert "KL202" not in found.codes
    assert found.exclude[0] == (str(tmp_path), ("old/", "generated/**"))
    kernel = found.of_file(str(tmp_path / "kernels" / "k.py"))
    assert kernel.reference == str(tmp_path / "ref.py")
    assert (kernel.severity["KL301"], kernel.severity["KL302"]) == ("error", "info")
    assert "KL101" in kernel.codes
    options = kernel.options
    assert (options["KL201", "min-gain"], options["KL202", "min-gain"], options["KL212", "min-gain"]) == (2, 1.5, 1.5)
    assert options["KL212", "most-configurations"] == 64 and ("KL301", "min-gain") not in options
    assert found.to_json()["rule-options"]["KL212"] == {"min-gain": 1.5, "most-configurations": 64}
    test = found.of_file(str(tmp_path / "tests" / "deep" / "t.py"))
    assert "KL101" not in test.codes
    assert test.reference is None
    assert found.of_file(str(tmp_path / "x" / "bench_a.py")).codes == frozenset()


def test_the_schema_knows_the_same_keys_and_values():
    tomllib = pytest.importorskip("tomllib")
    validator = jsonschema.Draft202012Validator(load("config"))
    table = tomllib.loads(FULL)
    validator.validate(table)
    assert set(load("config")["properties"]) == set(table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "unknown key 'selct'; did you mean select?"),
        ("per_file_ignores = {}", "unknown key 'per_file_ignores'; did you mean per-file-ignores?"),
        ("zebra = 1", "unknown key 'zebra'"),
        ("[tool.kernlint]", "unknown key 'tool'; this file needs no [tool.kernlint]"),
        ("select = 'KL1'", "select: expected a list of strings"),
        ("select = [1]", "select: expected a list of strings"),
        ("ignore = ['KL110']", "ignore: unknown rule selector 'KL110'; did you mean KL"),
        ("device = 'h1000'", "device: unknown device"),
        ("device = 3", "device: expected a string"),
        ("target-triton = 3.6", "target-triton: expected a version"),
        ("target-triton = 'new'", "target-triton: expected a version"),
        ("respect-gitignore = 'yes'", "respect-gitignore: expected true or false"),
        ("timeout = 0", "timeout: expected a positive number"),
        ("timeout = true", "timeout: expected a positive number"),
        ("timeout = nan", "timeout: expected a positive number"),
        ("fail-on = 'warn'", "fail-on: 'warn' is none of error, warning, info; did you mean warning?"),
        ("severity = { KL101 = 'fatal' }", "severity: 'fatal' is none of"),
        ("severity = { KL999 = 'info' }", "severity: unknown rule selector 'KL999'"),
        ("severity = 'info'", "severity: expected a table"),
        ("rules = { KL101 = 1 }", "rules: expected a table"),
        ("rules = { KL101 = { most = 1 } }", "rules: KL101 has no option 'most'"),
        ("rules = { KL101 = { mingain = 1 } }", "KL101 has no option 'mingain'; did you mean min-gain?"),
        ("rules = { KL7 = { min-gain = 1.5 } }", "rules: KL7 has no option 'min-gain'"),
        ("rules = { KL101 = { min-gain = 0.5 } }", "rules: KL101: min-gain: expected a number, at least 1"),
        ("rules = { KL212 = { most-configurations = 'x' } }", "expected a number"),
        ("rules = { KL212 = { most-configurations = nan } }", "expected a number"),
        ("rules = { KL999 = {} }", "rules: unknown rule selector 'KL999'"),
        ("per-file-ignores = { 'a' = 'KL1' }", "per-file-ignores: expected a list of strings"),
        ("references = { 'k.py' = 'none.py' }", "references: no such file: none.py"),
        ("references = { 'k.py' = 1 }", "references: expected strings"),
        ("references = { './k.py' = 'ref.py' }", "references: not a pattern: './k.py'; patterns are as in .gitignore"),
        ("exclude = ['../old']", "exclude: not a pattern"),
        ("include = ['./k/*.py']", "include: not a pattern"),
        ("per-file-ignores = { './k.py' = ['KL1'] }", "per-file-ignores: not a pattern"),
        ("exclude = ['[z-a]']", "exclude: not a pattern"),
        ("baseline = ''", "baseline: expected a path"),
        ('baseline = "a\\u0000b"', "baseline: expected a path"),
        ("output-format = 'xml'", "output-format: 'xml' is none of"),
        ("exclude = ['[']", None),
        ("select = [", "not TOML"),
        ("a = 1\na = 2", "not TOML"),
    ],
)
def test_mistakes(settings, text, message):
    if message is None:
        settings(text)  # gitignore takes it for a literal
        return
    with pytest.raises(UsageError) as error:
        settings(text)
    assert "kernlint.toml" in str(error.value)
    assert message in str(error.value)
    assert "\n" not in str(error.value) or "not TOML" in message


@pytest.mark.parametrize("key", ["tool = 3", "[tool]\nkernlint = 3"])
def test_odd_tables_in_pyproject(settings, key):
    if "kernlint" in key:
        with pytest.raises(UsageError, match="not a table"):
            settings(key, "pyproject.toml")
    else:
        assert settings(key, "pyproject.toml").source is None


def test_nearest_wins(settings, tmp_path):
    settings("[tool.kernlint]\nselect = ['KL1']\n", "pyproject.toml")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    configurations = Configurations()
    assert configurations.of(str(inner)).source == str(tmp_path / "pyproject.toml")
    (tmp_path / "a" / "kernlint.toml").write_text("select = ['KL2']\n")
    found = Configurations().of(str(inner))
    assert found.source == str(tmp_path / "a" / "kernlint.toml")
    assert "KL101" not in found.codes


def test_a_folder_nested_deeper_than_python_recurses(settings, tmp_path):
    source = settings("select = ['KL1']").source
    assert Configurations().of(os.path.join(tmp_path, *["d"] * 5_000)).source == source


def test_kernlint_toml_goes_before_pyproject(settings, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.kernlint]\nselect = ['KL1']\n")
    assert settings("select = ['KL2']").source == str(tmp_path / "kernlint.toml")


def test_a_broken_pyproject_of_others_is_none_of_our_business(settings):
    assert settings("broken [", "pyproject.toml").source is None


def test_isolated_and_one_file_for_all(settings, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text("select = ['KL3']")
    assert settings("select = ['KL1']", isolated=True).source is None
    assert settings("select = ['KL1']", file=str(other)).source == str(other)


def test_the_command_line_goes_over_the_file(settings):
    overrides = Overrides(
        choice=Choice(select=("KL301",)), severity=(("KL301", "error"),), device="h200", timeout_s=1.0
    )
    found = settings("select = ['KL1']\nseverity = { KL301 = 'info' }\n", overrides=overrides)
    assert {code for code in found.codes if code < "KL9"} == {"KL301"}
    assert found.of_file("/x.py").severity["KL301"] == "error"
    assert (found.device, found.timeout_s) == ("h200", 1.0)


def test_settings_can_be_shown(settings):
    shown = json.loads(json.dumps(settings("ignore = ['KL1']").to_json()))
    assert shown["root"] == os.getcwd()
    assert "KL101" not in shown["rules"]
