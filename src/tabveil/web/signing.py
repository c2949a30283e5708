"""A signature: who decided what about a report, when, and the digests of the files that it is about.

It is a record, kept beside what it is about; it proves who signed no better than a line on paper does.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from tabveil.core import check
from tabveil.core.storage.files import Unreadable, read_json, write_text
from tabveil.core.storage.plain import from_plain, to_plain
from tabveil.errors import ParameterError
from tabveil.version import __version__

Decision = Literal["release", "release with conditions", "do not release"]
DECISIONS: tuple[Decision, ...] = ("release", "release with conditions", "do not release")
SIGNED = "signed"
FILES = ("audit.yaml", "report.json", "report.html")
"""What is signed, each by its digest."""

_LONGEST, _LONGEST_REASONS = 200, 4000
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Signature:
    """One signature."""

    run: str
    name: str
    role: str
    decision: Decision
    reasons: str = ""
    repeat_by: str = ""
    date: str
    verdict: str
    digests: Mapping[str, str]
    inputs: Mapping[str, str] = field(default_factory=dict)  # of the audited tables, as the report has them
    tabveil: str = __version__

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return the signature of a file; None where it is none."""
        try:
            return from_plain(cls, read_json(path, most=_MOST_BYTES))
        except (OSError, Unreadable, ValueError):
            return None

    def changed(self, folder: Path) -> list[str]:
        """Return the files of a run that are no longer what was signed."""
        return [name for name, digest in self.digests.items() if digest_of(folder / name) != digest]


def sign(project: Path, run: Path, *, seen: str, said: Mapping[str, str]) -> Signature:
    """Write a signature about a run; ``seen`` is the digest of the report that the form was made for."""
    for what, longest in (("name", _LONGEST), ("role", _LONGEST), ("reasons", _LONGEST_REASONS)):
        if len(said[what]) > longest:
            raise ParameterError(what, f"must have at most {longest:,} characters.")
    for what in ("name", "role"):
        if not said[what]:
            raise ParameterError(what, "must be given.")
    check.one_of("decision", "it", said["decision"], DECISIONS)
    if said["decision"] != "release" and not said["reasons"]:
        raise ParameterError("reasons", "must be given where the decision is not a plain release.")
    today = dt.datetime.now(tz=dt.UTC).date()
    if said["repeat_by"] and _date(said["repeat_by"]) <= today:
        raise ParameterError("repeat_by", "must be a day to come.")
    digests = {name: found for name in FILES if (found := digest_of(run / name)) is not None}
    if digests.get("report.json") != seen:
        raise ParameterError("the report", "has changed since this page was opened; read it again.")
    report = read_json(run / "report.json")
    signature = Signature(
        run=run.name,
        name=said["name"],
        role=said["role"],
        decision=said["decision"],  # type: ignore[arg-type] # checked above
        reasons=said["reasons"],
        repeat_by=said["repeat_by"],
        date=dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds"),
        verdict=report["verdict"]["state"],
        digests=digests,
        inputs={role: item["sha256"] for role, item in report["inputs"].items() if item.get("sha256")},
    )
    plain: Any = to_plain(signature)
    place = project / SIGNED
    place.mkdir(exist_ok=True)
    number = sum(1 for _ in place.glob(f"{run.name}-*.json")) + 1
    write_text(place / f"{run.name}-{number}.json", json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
    return signature


def of_run(project: Path, run: str) -> list[tuple[str, Signature]]:
    """Return the signatures about a run, with the names of their files, the first one first."""
    paths = sorted((project / SIGNED).glob(f"{run}-*.json"), key=lambda path: (len(path.name), path.name))
    found = ((path.name, Signature.read(path)) for path in paths)
    return [(name, signature) for name, signature in found if signature is not None]


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 digest of a file; None where there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def sha256(data: bytes) -> str:
    """Return the SHA-256 digest of bytes."""
    return hashlib.sha256(data).hexdigest()


def _date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ParameterError("repeat_by", "must be a date such as 2027-03-01.") from None
