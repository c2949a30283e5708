"""Write requirements.lock: every package of the tests' environment, with the digest of its file.

Reads on standard input what ``pip install --dry-run --report -`` found out (``make lock`` runs both).
"""

import json
import sys
from typing import Any

LEFT_OUT = {"tabveil", "torch"}
HEAD = """\
# Every package of the tests' environment on Linux x86_64 with Python 3.11, to the digest of its file.
# Made by `make lock` from pyproject.toml and constraints.txt: change those, never this file.
# torch is not here: which build pip finds (for the CPU or a GPU), and so its digest, depends on where it
# looks. The Makefile installs it by its version alone, after these.
"""


def lock(report: dict[str, Any]) -> str:
    """Return the lines of the lock, in the order of the names."""
    pins = {}
    for item in report["install"]:
        name = item["metadata"]["name"].lower().replace("_", "-")
        if name not in LEFT_OUT:
            digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
            pins[name] = f"{name}=={item['metadata']['version']} --hash=sha256:{digest}\n"
    return HEAD + "".join(pins[name] for name in sorted(pins))


if __name__ == "__main__":
    sys.stdout.write(lock(json.load(sys.stdin)))
