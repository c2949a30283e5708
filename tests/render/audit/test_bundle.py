"""A bundle is the same whenever it is made, is whole or refused, and says what stands in its report."""

import io
import zipfile
from dataclasses import replace

import pytest
from supplies import made_reports

from tabveil.auditing.dictionary import Dictionary, DictionaryEntry
from tabveil.auditing.report import Report
from tabveil.errors import ParameterError
from tabveil.render.audit import bundle as made
from tabveil.render.audit.bundle import MANIFEST, NAMES, PAGE, REPORT, SCHEMA, archived, bundle, check_bundle
from tabveil.tables.reading import declare
from tabveil.version import __version__


def report(**parts):
    columns = (
        DictionaryEntry(name="age", type="integer", treatment="compared", low="20", high="80"),
        DictionaryEntry(name="case", type="identifier", treatment="left out"),
        DictionaryEntry(name="patient", type="person", treatment="left out"),
    )
    made = replace(
        made_reports.report(made_reports.LEAKY), version=__version__, dictionary=Dictionary(columns=columns)
    )
    return replace(made, **parts).to_json().encode()


@pytest.fixture
def whole(tmp_path):
    place = tmp_path / "release.zip"
    place.write_bytes(archived(report()))
    return place


def files_in(place):
    with zipfile.ZipFile(place) as archive:
        return {item.filename: archive.read(item) for item in archive.infolist()}


def rewritten(place, files, *, packed=zipfile.ZIP_STORED, mode=0o100600):
    with zipfile.ZipFile(place, "w", packed) as archive:
        for name, data in files:
            item = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            item.external_attr, item.create_system, item.compress_type = mode << 16, 3, packed
            archive.writestr(item, data)


def test_it_is_whole_and_the_same_each_time(whole):
    found = check_bundle(whole)
    assert found.made_again
    assert found.manifest.verdict == "above threshold"
    assert whole.read_bytes() == archived(report())
    told = "\n".join(found.lines())
    assert found.sha256 in told
    assert "5 files" in told or "4 files" in told


def test_the_page_in_it_has_no_date(whole):
    assert b"Page made on" not in files_in(whole)[PAGE]


def test_python_writes_what_the_command_writes(whole, tmp_path):
    stored = tmp_path / "report.json"
    stored.write_bytes(report())
    digest = bundle(stored, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == whole.read_bytes()
    assert digest == check_bundle(whole).sha256
    bundle(Report.read(stored), tmp_path / "third.zip")
    assert check_bundle(tmp_path / "third.zip").made_again
    with pytest.raises(ParameterError, match=r"must end in \.zip"):
        bundle(stored, tmp_path / "again.tar")


def test_its_schema_is_one_that_an_audit_reads(whole, tmp_path):
    place = tmp_path / SCHEMA
    place.write_bytes(files_in(whole)[SCHEMA])
    read = declare.read(place)
    assert (tuple(read.columns), tuple(read.drop), read.person) == (("age",), ("case",), "patient")


def test_a_bundle_of_another_version_is_not_made_again(tmp_path):
    place = tmp_path / "old.zip"
    place.write_bytes(archived(report(version="0.0.1")))
    found = check_bundle(place)
    assert not found.made_again
    assert "Made by tabveil 0.0.1" in "\n".join(found.lines())


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_file_is_found_out(whole, name):
    files = files_in(whole)
    if name not in files:
        pytest.skip("not in this bundle")
    data = files[name]
    files[name] = data.replace(b"age", b"agf", 1) if b"age" in data else data + b" "
    rewritten(whole, files.items())
    with pytest.raises(ParameterError, match="not a whole bundle"):
        check_bundle(whole)


def test_a_page_that_says_something_else_is_found_out_also_with_a_fitting_digest(whole):
    files = files_in(whole)
    files[PAGE] = files[PAGE].replace(b"Above threshold", b"Within threshold")
    manifest = made.Manifest.from_json(made.parse_json(files[MANIFEST], MANIFEST))
    digests = manifest.files | {PAGE: made._digest(files[PAGE])}
    files[MANIFEST] = made._json(replace(manifest, files=digests).to_json())
    rewritten(whole, files.items())
    with pytest.raises(ParameterError, match=r"report\.html does not follow from report\.json"):
        check_bundle(whole)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda files: [*files, ("../report.html", b"x")], "other files"),
        (lambda files: [*files, ("/etc/passwd", b"x")], "other files"),
        (lambda files: [*files, ("folder/", b"")], "other files"),
        (lambda files: [file for file in files if file[0] != MANIFEST], "lacks MANIFEST"),
        (lambda files: [file for file in files if file[0] != REPORT], "lacks report"),
        (lambda files: [file for file in files if file[0] != PAGE], r"report\.html is not what"),
        (lambda files: files[::-1], "something in it beside"),
    ],
)
def test_other_files_names_and_orders_are_refused(whole, change, words):
    rewritten(whole, change(list(files_in(whole).items())))
    with pytest.raises(ParameterError, match=words):
        check_bundle(whole)


def test_links_bombs_and_files_twice_are_refused(whole):
    files = list(files_in(whole).items())
    rewritten(whole, files, mode=0o120777)
    with pytest.raises(ParameterError, match="no plain files"):
        check_bundle(whole)
    rewritten(whole, [(REPORT, b"0" * 10_000_000)], packed=zipfile.ZIP_DEFLATED)
    with pytest.raises(ParameterError, match="more than its size allows"):
        check_bundle(whole)
    with pytest.warns(UserWarning, match="Duplicate"):
        rewritten(whole, [(REPORT, b"{}"), (REPORT, b"{}")])
    with pytest.raises(ParameterError, match="twice"):
        check_bundle(whole)


@pytest.mark.parametrize("data", [b"", b"no archive", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_bundle_is_refused_in_one_line(whole, data):
    whole.write_bytes(data)
    with pytest.raises(ParameterError, match="not a whole bundle") as refused:
        check_bundle(whole)
    assert "\n" not in str(refused.value)


def test_hidden_bytes_and_cut_off_ones_are_found_out(whole):
    data = whole.read_bytes()
    for changed in (b"x" + data, data + b"x", data[:-1], data[: len(data) // 2]):
        whole.write_bytes(changed)
        with pytest.raises(ParameterError, match="not a whole bundle"):
            check_bundle(whole)


def test_an_archive_is_read_from_memory_as_it_was_written():
    with zipfile.ZipFile(io.BytesIO(archived(report()))) as archive:
        assert archive.read(REPORT) == report()
        assert archive.testzip() is None
