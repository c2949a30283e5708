"""What all tests share."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # strategies and oracles, importable from every folder
