"""What pyproject.toml cannot say: packages that lie beside kernlint/, and the README with links that work on a package index too."""

import re
import runpy
from pathlib import Path

from setuptools import find_packages, setup

#: Where the target of a link begins that is neither an address nor a heading of the page.
_RELATIVE = re.compile(r"(?<=\]\()(?![a-z]+:|#)")

_repository = runpy.run_path("kernlint/links.py")["REPOSITORY"]
_beside = find_packages(include=["rules*", "schema*"])

setup(
    long_description=_RELATIVE.sub(f"{_repository}/blob/main/", Path("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
    packages=[*find_packages(include=["kernlint*"]), *(f"kernlint.{name}" for name in _beside)],
    package_dir={"kernlint.rules": "rules", "kernlint.schema": "schema"},
)
