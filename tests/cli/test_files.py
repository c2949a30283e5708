"""Files that commands write: nothing is replaced that nobody asked to replace, and no input ever."""

import os
import shutil
from pathlib import Path

import pytest
from supplies.terminal import AUDIT, refused, run

from tabveil import datasets
from tabveil.auditing import audit as auditor
from tabveil.auditing.report import Report

METRIC = ("--metric", "identical_match_share")
LEARN = ("synthesize", "--data", "train.csv", "--generator", "marginals")
OUTPUTS = {
    "audit-json": ((*AUDIT, *METRIC, "--json"), "out.json"),
    "audit-html": ((*AUDIT, *METRIC, "--no-power", "--no-utility", "--html"), "out.html"),
    "audit-records": ((*AUDIT, *METRIC, "--records"), "out.csv"),
    "compare": (("compare", "one.json", "two.json", "--html"), "out.html"),
    "config": (("config", "one.json", "--out"), "out.yaml"),
    "policy": (("policy", "--out"), "out.yaml"),
    "schema": (("schema", "train.csv", "--out"), "out.yaml"),
    "synthesize": ((*LEARN, "--out"), "out.csv"),
    "sample": (("sample", "model", "--rows", "5", "--out"), "out.csv"),
}
every_output = pytest.mark.parametrize(("command", "name"), OUTPUTS.values(), ids=OUTPUTS)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make tables, reports and a model, once."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for seed, name in enumerate(("train", "control", "synthetic")):
            people = datasets.hospital(20, seed=seed)[["age", "sex"]]
            people.to_csv(f"{name}.csv", index=False)
        assert run(*AUDIT, *METRIC, "-q", "--json", "one.json").exit_code == 0
        shutil.copy("one.json", "two.json")
        assert run(*LEARN, "--out", "s.csv", "--save", "model").exit_code == 0
    return folder


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """Work in a fresh folder with all of them."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@every_output
def test_what_is_there_is_replaced_only_by_force(place, command, name):
    Path(name).write_text("mine")
    assert "add --force" in refused(*command, name)
    assert Path(name).read_text() == "mine"
    result = run(*command, name, "--force")
    assert result.exit_code == 0, result.output
    assert Path(name).read_text() != "mine"


@every_output
@pytest.mark.parametrize("there", [True, False], ids=["there", "dangling"])
def test_a_link_stays_and_what_it_leads_to_is_written(place, command, name, there):
    Path("kept").mkdir()
    target, link = Path("kept", name), Path(name)
    link.symlink_to(target)
    if there:
        target.write_text("mine")
        assert "add --force" in refused(*command, link)
        assert target.read_text() == "mine"
    result = run(*command, link, *["--force"] * there)
    assert result.exit_code == 0, result.output
    assert link.is_symlink()
    assert target.read_text() != "mine"


INPUTS = [
    (OUTPUTS["audit-json"][0], "train.csv"),
    (OUTPUTS["audit-html"][0], "control.csv"),
    (OUTPUTS["audit-records"][0], "synthetic.csv"),
    (OUTPUTS["compare"][0], "two.json"),
    (OUTPUTS["config"][0], "one.json"),
    (OUTPUTS["schema"][0], "train.csv"),
    (OUTPUTS["synthesize"][0], "train.csv"),
    (OUTPUTS["sample"][0], "model/arrays.npz"),
]


@pytest.mark.parametrize(
    ("command", "name"), INPUTS, ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.parametrize("spelling", ["itself", "dots", "symbolic", "hard"])
def test_an_input_is_never_written_whatever_it_is_called(place, command, name, spelling):
    before = Path(name).read_bytes()
    other = {"itself": name, "dots": f"model/../{name}"}.get(spelling, "other.csv")
    if spelling == "symbolic":
        Path(other).symlink_to(Path(name).resolve())
    if spelling == "hard":
        os.link(name, other)
    line = refused(*command, other, "--force")
    assert "something else" in line or "the model's folder" in line or "npz" in line
    assert Path(name).read_bytes() == before
    assert Path(name).stat().st_nlink == 1 + (spelling == "hard")


def test_split_follows_links_and_never_writes_its_data(place):
    Path("parts").mkdir()
    Path("elsewhere.csv").write_text("mine")
    Path("parts/control.csv").symlink_to("../elsewhere.csv")
    asked = ("split", "--data", "train.csv", "--out", "parts")
    assert "control.csv is already there" in refused(*asked)
    assert run(*asked, "--force").exit_code == 0
    assert Path("parts/control.csv").is_symlink()
    assert Path("elsewhere.csv").read_text() != "mine"
    Path("parts/train.csv").unlink()
    os.link("train.csv", "parts/train.csv")
    assert "something else" in refused(*asked, "--force")


def test_both_parts_of_a_split_cannot_be_one_file(place):
    Path("parts").mkdir()
    Path("parts/control.csv").symlink_to("train.csv")
    assert "something else" in refused("split", "--data", "train.csv", "--out", "parts", "--force")


def test_two_outputs_cannot_be_one_file(place):
    Path("page.html").symlink_to("report.json")
    line = refused(*AUDIT, "--json", "report.json", "--html", "page.html")
    assert "--html: page.html is also used for something else" in line


def test_a_link_that_leads_to_itself_is_refused(place):
    Path("out.json").symlink_to("out.json")
    assert "--json: out.json" in refused(*AUDIT, "--json", "out.json")


def test_files_in_the_way_are_found_before_the_long_work(place, monkeypatch):
    monkeypatch.setattr(auditor, "load_releases", lambda *args, **kwargs: pytest.fail("read the tables"))
    for option, name in (("--json", "a.json"), ("--html", "a.html"), ("--records", "a.csv")):
        Path(name).touch()
        refused(*AUDIT, option, name)


def test_no_link_is_followed_where_writing_is_tried(place):
    """Whoever may write into the folder, but not elsewhere, lays a link where a file would be tried."""
    Path(f".tabveil-{os.getpid()}").symlink_to(place.parent / "planted")
    assert run(*OUTPUTS["policy"][0], "out.yaml").exit_code == 0
    assert not (place.parent / "planted").exists()
    assert Path(f".tabveil-{os.getpid()}").is_symlink()


FULL = {
    **{name: OUTPUTS[name] for name in ("audit-json", "audit-html", "audit-records", "config", "policy")},
    **{name: OUTPUTS[name] for name in ("schema", "synthesize", "sample")},
    "model": ((*LEARN, "--out", "rows.csv", "--save"), "new"),
    "split": (("split", "--data", "train.csv", "--out"), "parts/train.csv"),
    "pseudonymize": (
        ("pseudonymize", "--data", "train.csv", "--out", "p.csv", "--column", "sex", "--key"),
        "key",
    ),
}


@pytest.mark.parametrize(("command", "name"), FULL.values(), ids=FULL)
def test_a_full_disk_is_one_line_that_names_the_file_and_nothing_is_left(place, command, name):
    resource = pytest.importorskip("resource")
    before = {path.name for path in place.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))  # no file gets longer than this
    try:
        result = run(*command, name.partition("/")[0])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    line = result.stderr.splitlines()[-1]
    assert (result.exit_code, line.endswith(f"{name}: File too large.")) == (2, True), result.stderr
    assert {path.name for path in place.iterdir()} - before <= {"parts"}
    assert not list(place.glob("parts/*"))


def test_records_behind_a_link_are_written_as_the_file_is_called(place):
    Path("records.csv").symlink_to("blob")
    assert ".csv or .parquet" in refused(*AUDIT, *METRIC, "--records", "records.csv")


def test_reminders_name_files_as_they_were_given(place):
    Path("page.html").symlink_to("kept.html")
    result = run(*OUTPUTS["audit-html"][0], "page.html")
    assert result.stderr.splitlines()[-1] == "The report to read, print and sign: page.html"
    assert Report.read("one.json").results  # untouched


def test_the_demo_draws_only_over_its_own_picture(place):
    Path("mine.svg").write_text("<svg/>")
    assert "mine.svg is already there" in refused("demo", "--out", "show", "--svg", "mine.svg")
