"""``python -m kernlint``."""

import sys

from kernlint.cli import main

sys.exit(main())
