"""All that belongs to one decision in one file: page, numbers, policy, schema, settings, and their digests.

The same report gives the same bytes, whenever and wherever it is bundled: nothing in the archive is packed,
dated or named after a machine. So a bundle can be made again and compared, and the digest of the whole file,
written down beside a signature, says what was signed. The digests inside find damage; they are no signature,
for whoever changes a file can write new ones.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tabveil.auditing.dictionary import Dictionary
from tabveil.auditing.report import Report
from tabveil.core.settings import yaml_files
from tabveil.core.storage.files import (
    MOST_JSON,
    Unreadable,
    parse_json,
    read_bytes,
    read_members,
    replacing,
)
from tabveil.core.storage.plain import FORBID_OTHERS, PlainData, require_plain
from tabveil.errors import ParameterError
from tabveil.render.audit.page import page
from tabveil.render.html import UNDATED
from tabveil.version import __version__

FORM = 1
MANIFEST, REPORT, PAGE = "MANIFEST.json", "report.json", "report.html"
POLICY, SCHEMA, SETTINGS = "policy.yaml", "schema.yaml", "audit.yaml"
NAMES = (MANIFEST, SETTINGS, POLICY, PAGE, REPORT, SCHEMA)
"""Every file that a bundle may hold, in its order."""

MOST_BYTES = 2 * MOST_JSON
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the first that an archive can write down
_MODE = 0o100600 << 16
_ON_UNIX = 3
_SCHEMA_HEAD = "# What the audit took each column for, as 'tabveil audit --schema' reads it.\n"


@dataclass(frozen=True, kw_only=True)
class FileDigest:
    """One file of a bundle."""

    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest(PlainData):
    """What a bundle holds, and which tables it is about."""

    __pydantic_config__ = FORBID_OTHERS

    form: int
    tabveil: str
    title: str
    verdict: str
    inputs: dict[str, str]  # digests of the tables, by their roles
    files: dict[str, FileDigest]


@dataclass(frozen=True, kw_only=True)
class CheckedBundle:
    """A bundle that is whole: what it says, and whether its page could be made anew."""

    manifest: Manifest
    sha256: str
    made_again: bool

    def lines(self) -> list[str]:
        """Say it in words."""
        found = self.manifest
        again = (
            "Page, policy, schema and settings were made again from the report: the same."
            if self.made_again
            else f"Made by tabveil {found.tabveil}, and this is {__version__}: the page was not made again."
        )
        return [
            f"Whole: {len(found.files)} files, each as its digest says.",
            again,
            *([f"Title: {found.title}"] if found.title else []),
            f"Verdict: {found.verdict}.",
            "Digests (SHA-256):",
            *(f"  {what:<10}{digest}" for what, digest in {**found.inputs, "bundle": self.sha256}.items()),
            "Compare that of the bundle with the one that was signed.",
        ]


def bundle(report: Report | str | Path, out: str | Path) -> str:
    """Write a report and all that belongs to it into one file, as ``tabveil bundle`` does.

    Parameters
    ----------
    report
        A report, or the JSON file of one.
    out
        Where to write the bundle, whole or not at all; its name must end in ``.zip``.

    Returns
    -------
    The SHA-256 digest of the bundle, to be written down where somebody signs.
    """
    if Path(out).suffix.lower() != ".zip":
        raise ParameterError("bundle", f"the name must end in .zip, got {Path(out).name}.")
    if isinstance(report, Report):
        read, written = report, f"{report.to_json()}\n".encode()
    else:
        read, written = Report.read(report), read_bytes(Path(report), most=MOST_JSON)
    archive = archived(written)
    with replacing(Path(out), guarded=read.exposed is not None) as temporary:
        temporary.write_bytes(archive)
    return hashlib.sha256(archive).hexdigest()


def archived(written: bytes) -> bytes:
    """Put a stored report and all that is made of it into one archive."""
    report = _report(written)
    files = {REPORT: written, **_made_of(report)}
    manifest = _manifest_of(report, files)
    return _packed({**files, MANIFEST: _json(manifest.to_json())})


def check_bundle(path: Path) -> CheckedBundle:
    """Read a bundle and compare everything in it with everything else; a fault is said in one line."""
    try:
        return _checked(path)
    except FileNotFoundError:
        raise ParameterError(path.name, "there is no such file.") from None
    except OSError as error:
        raise ParameterError(path.name, f"cannot be read: {error.strerror}.") from None
    except Unreadable as error:
        raise ParameterError(path.name, f"not a whole bundle: {error}.") from None


def _checked(path: Path) -> CheckedBundle:
    files = read_members(path, NAMES, most=MOST_BYTES)
    whole = read_bytes(path, most=MOST_BYTES)
    manifest = _manifest(files)
    report = _report(files[REPORT])
    if replace(_manifest_of(report, {}), files=manifest.files) != manifest:
        raise Unreadable(f"{MANIFEST} says something else than {REPORT}")
    if _packed(files) != whole:
        raise Unreadable("there is something in it beside its files")
    again = report.version == __version__
    if again:
        made = _made_of(report)
        for name in sorted(made.keys() | (files.keys() - {MANIFEST, REPORT})):
            if made.get(name) != files.get(name):
                raise Unreadable(f"{name} does not follow from {REPORT}")
    return CheckedBundle(manifest=manifest, sha256=hashlib.sha256(whole).hexdigest(), made_again=again)


def _manifest(files: Mapping[str, bytes]) -> Manifest:
    """Read what a bundle says of itself, and require that its files are what it says."""
    for name in (MANIFEST, REPORT):
        if name not in files:
            raise Unreadable(f"it lacks {name}")
    manifest = require_plain(Manifest, parse_json(files[MANIFEST], MANIFEST), MANIFEST)
    if manifest.form != FORM:
        raise Unreadable(f"its form is {manifest.form}, this version reads {FORM}")
    if files[MANIFEST] != _json(manifest.to_json()):
        raise Unreadable(f"{MANIFEST} is not written as tabveil writes it")
    held = {name: _digest(data) for name, data in files.items() if name != MANIFEST}
    for name in sorted(held.keys() | manifest.files.keys()):
        if held.get(name) != manifest.files.get(name):
            raise Unreadable(f"{name} is not what its digest says")
    return manifest


def _manifest_of(report: Report, files: Mapping[str, bytes]) -> Manifest:
    return Manifest(
        form=FORM,
        tabveil=report.version,
        title=report.title,
        verdict=report.verdict.state,
        inputs={role: item.sha256 for role, item in report.inputs.items()},
        files={name: _digest(files[name]) for name in sorted(files)},
    )


def _report(written: bytes) -> Report:
    try:
        return Report.from_json(written.decode("utf-8"))
    except ParameterError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise Unreadable(f"{REPORT} is no report of this version of tabveil") from error


def _made_of(report: Report) -> dict[str, bytes]:
    """Return every file that follows from a report."""
    found = {
        PAGE: page(report, made=UNDATED),
        POLICY: yaml_files.to_yaml(report.policy.to_json()),
    }
    if report.request:
        found[SETTINGS] = report.config()
    if report.dictionary is not None:
        found[SCHEMA] = _schema(report.dictionary)
    return {name: text.encode() for name, text in found.items()}


def _schema(dictionary: Dictionary) -> str:
    """Write the types of columns as ``tabveil audit --schema`` reads them; no label and no range."""
    types = {item.name: item.type for item in dictionary.columns if item.treatment != "left out"}
    left_out = {item.name: item.type for item in dictionary.columns if item.treatment == "left out"}
    said: dict[str, Any] = {"drop": [name for name, why in left_out.items() if why != "person"]}
    person = next((name for name, why in left_out.items() if why == "person"), None)
    said |= {} if person is None else {"person": person}
    return _SCHEMA_HEAD + yaml_files.to_yaml({**said, "columns": types})


def _digest(data: bytes) -> FileDigest:
    return FileDigest(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _json(data: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n".encode()


def _packed(files: Mapping[str, bytes]) -> bytes:
    """Write an archive whose bytes follow from the files alone."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in NAMES:
            if name in files:
                item = zipfile.ZipInfo(name, _FIRST_DAY)
                item.external_attr, item.create_system = _MODE, _ON_UNIX
                archive.writestr(item, files[name])
    return target.getvalue()
