"""The synthetic paper of the tests of the analysis."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "analysis"))
