"""What the pages do with what is sent to them."""

import io
import itertools
import json
import zipfile

import pytest
from supplies.daemons import waited_for

from tabveil.synthesis.generators import GENERATORS
from tabveil.web import runner
from tabveil.web.jobs import Jobs, new_folder
from tabveil.web.places import Below
from tabveil.web.projects import Project, Rows


@pytest.fixture
def project(client, served, monkeypatch):
    """A project with three tables and a release, in which nothing is started."""
    monkeypatch.setattr(Jobs, "_start", lambda _self, _job: None)
    client.post("/projects", {"name": "one"})
    client.post("/p/one/data", {"way": "three", "train": "train.csv", "control": "control.csv"})
    client.post("/p/one/release", {"release": "given", "file": "release.csv"})
    return Project.named(served.desk.below, "one")


def finished(project, kind, *, code=0, title="x", about=None, files=None):
    """A job that ran."""
    folder = new_folder(project.folder)
    plain = {"kind": kind, "title": title, "commands": [], "fine": [0, 1, 3], "about": about or {}}
    runner.write(folder / runner.JOB, {"light": False, "at": "2026-01-01T10:00:00+00:00", **plain})
    for name, text in (files or {}).items():
        (folder / name).write_text(text)
    runner.write(folder / runner.ENDED, {"code": code})
    return folder


REPORT = {
    "verdict": {"state": "above threshold", "sentence": "Above threshold: <b>no</b>."},
    "inputs": {"synthetic": {"sha256": "a" * 64}},
}
AUDITED = {"report.json": json.dumps(REPORT), "report.html": "<h1>Report</h1>", "audit.yaml": "seed: 1\n"}


def words(project):
    """The command of the last job."""
    newest = max((project.folder / "runs").iterdir(), key=lambda path: path.name)
    return json.loads((newest / runner.JOB).read_text())["commands"][0], newest


@pytest.mark.parametrize(
    "name",
    ["", "..", ".x", "a/b", "a\\b", "-a", " ", "x" * 61, "ä", "a\nb", "train.csv", "CON/..", "<b>", "a "],
)
def test_a_project_is_called_as_a_folder_can_be(client, folder, name):
    before = sorted(path.name for path in folder.iterdir())
    answer = client.post("/projects", {"name": name})
    if name == "a ":  # what browsers send with a space at its end
        assert answer.goes_to == "/p/a"
        return
    assert answer.status == 400
    assert 'role="alert"' in answer.text
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_project_that_is_a_link_or_none_opens_no_page(client, folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "project.json").write_text("{}")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    (folder / "plain").mkdir()
    for name in ("linked", "plain", "missing", "..", "%2e%2e", "..%2felsewhere", "train.csv"):
        assert client.get(f"/p/{name}").status == 404
    assert "linked" not in client.get("/").text


@pytest.mark.parametrize("place", ["../secret.csv", "/etc/passwd", "train.csv/..", "missing.csv", ".hidden"])
def test_tables_that_are_not_below_the_folder_are_refused(client, project, place, folder):
    (folder.parent / "secret.csv").write_text("x\n1\n")
    before = project.file
    for fields in ({"way": "one", "data": place}, {"way": "three", "train": place, "control": "control.csv"}):
        answer = client.post("/p/one/data", fields)
        assert answer.status == 400
        assert "no such file below this folder" in answer.text
        assert str(folder) not in answer.text
    assert client.post("/p/one/release", {"release": "two", "file": place}).status == 400
    assert client.post("/p/one/study", {"kind": "tune", "file": place}).status == 400
    assert project.file == before


def test_real_rows_cannot_be_named_a_release_nor_be_their_own_control(client, project):
    assert (
        "holds the real rows" in client.post("/p/one/release", {"release": "two", "file": "train.csv"}).text
    )
    assert (
        client.post("/p/one/data", {"way": "three", "train": "train.csv", "control": "train.csv"}).status
        == 400
    )
    assert (
        "another release is called so"
        in client.post("/p/one/release", {"release": "given", "file": "release.csv"}).text
    )


def test_an_audit_is_the_command_with_a_file(client, project):
    answer = client.post(
        "/p/one/audit",
        {"release": "given", "quick": "true", "threads": "1", "seed": "5", "policy.required": "linkability"},
    )
    assert answer.status == 303
    command, folder = words(project)
    assert command == [
        "audit",
        "--config",
        "audit.yaml",
        "--json",
        "report.json",
        "--html",
        "report.html",
        "--threads",
        "1",
    ]
    text = (folder / "audit.yaml").read_text()
    assert "synthetic: ../../../release.csv" in text
    assert "seed: 5" in text
    assert client.get(f"{answer.goes_to}/file/audit.yaml").text == text
    assert "Waiting for its turn" in client.get(answer.goes_to).text


def test_what_a_form_gets_wrong_stands_on_it_and_nothing_is_lost_or_begun(client, project):
    before = len(list((project.folder / "runs").iterdir()))
    for fields, why in (
        ({"release": "given", "seed": "soon", "title": "Second <try>"}, "seed must be a whole number"),
        ({"release": "nobody's", "title": "Second <try>"}, "release: choose one"),
    ):
        answer = client.post("/p/one/audit", fields)
        assert answer.status == 400
        assert why in answer.text
        assert 'value="Second &lt;try&gt;"' in answer.text
    assert len(list((project.folder / "runs").iterdir())) == before


def test_every_generator_has_a_form_and_becomes_a_command(client, project):
    for name in GENERATORS:
        assert client.get(f"/p/one/release/{name}").status == 200
    answer = client.post("/p/one/release/copy", {"release": "copies", "setting.noise": "0.1", "rows": "20"})
    assert answer.status == 303
    command, folder = words(project)
    assert command[0] == "synthesize"
    assert command[1:3] == ["--data", str(project.below.root / "train.csv")]
    assert command[3:] == ["--config", "release.yaml", "--out", "rows.csv"]
    assert "noise: 0.1" in (folder / "release.yaml").read_text()
    assert client.post("/p/one/release/copy", {"release": "x", "setting.noise": "much"}).status == 400
    assert client.get("/p/one/release/nobody").status == 404


def test_a_release_counts_only_beside_the_rows_it_was_learned_from(client, project, served):
    """Beside other training rows an audit of it would find nothing, and say so."""
    jobs = served.desk.jobs
    for train in ("train.csv", "other.csv"):
        finished(
            project,
            "make",
            title="x",
            about={"out": "rows.csv", "train": train, "release": f"of {train}"},
            files={"rows.csv": "x\n"},
        )
    assert set(Rows.of(project, jobs).releases) == {"given", "of train.csv"}
    client.post("/p/one/data", {"way": "one", "data": "release.csv"})
    assert Rows.of(project, jobs).train is None
    split = {"data": "release.csv", "train": "train.csv", "control": "control.csv"}
    parted = finished(project, "split", about=split, files={"train.csv": "x\n", "control.csv": "x\n"})
    rows = Rows.of(project, jobs)
    assert (rows.train, rows.control) == (parted / "train.csv", parted / "control.csv")
    assert set(rows.releases) == {"given"}


def test_a_split_is_a_command(client, project):
    client.post("/p/one/data", {"way": "one", "data": "train.csv"})
    assert client.post("/p/one/split", {"control": "1.5"}).status == 400
    assert client.post("/p/one/split", {"control": "0.25", "seed": "3", "by": ""}).status == 303
    command, _ = words(project)
    assert command == [
        "split",
        "--data",
        str(project.below.root / "train.csv"),
        "--out",
        ".",
        "--control",
        "0.25",
        "--seed",
        "3",
    ]


@pytest.mark.parametrize(
    ("kind", "first"), [("tune", "tune"), ("benchmark", "benchmark"), ("pipeline", "pipeline")]
)
def test_a_study_is_started_from_its_file(client, project, folder, kind, first):
    (folder / "plan.yaml").write_text("repeats: 1\n")
    assert client.post("/p/one/study", {"kind": kind, "file": "plan.yaml"}).status == 303
    command, _ = words(project)
    assert command[0] == first
    assert str(project.below.root / "plan.yaml") in command
    if kind == "pipeline":  # of all of train, so that it counts as a release of this project
        assert command[3:7] == [
            "--data",
            str(project.below.root / "train.csv"),
            "--control",
            str(project.below.root / "control.csv"),
        ]
        _, run = words(project)
        (run / "rows.csv").write_text("x\n")
        (run / "report.json").write_text("{}")
        (run / "report.html").write_text("")
        runner.write(run / runner.ENDED, {"code": 3})
        assert "pipeline plan.yaml" in Rows.of(project, Jobs(folder)).releases
        client.post("/p/one/study", {"kind": kind, "file": "plan.yaml", "data": "release.csv"})
        command, run = words(project)
        assert "--control" not in command
        assert json.loads((run / runner.JOB).read_text())["about"] == {}
    assert client.post("/p/one/study", {"kind": "rm", "file": "plan.yaml"}).status == 400
    assert client.post("/p/one/study", {"kind": kind, "file": ""}).status == 400


def test_a_report_is_served_as_a_stranger(client, project):
    run = finished(project, "audit", code=1, files=AUDITED)
    for name in AUDITED:
        answer = client.get(f"/p/one/runs/{run.name}/file/{name}")
        assert answer.status == 200
        assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert "allow" not in answer.headers["content-security-policy"]
    kept = client.get(f"/p/one/runs/{run.name}/file/report.html?keep").headers["content-disposition"]
    assert kept == 'attachment; filename="one-report.html"'


def test_of_a_run_only_what_it_found_can_be_read(client, project, tmp_path):
    run = finished(project, "audit", files=AUDITED)
    (tmp_path / "secret").write_text("secret")
    (run / "report.html").unlink()
    (run / "report.html").symlink_to(tmp_path / "secret")
    for name in (
        "report.html",
        "job.json",
        "lock",
        "rows.csv",
        "..",
        "%2e%2e%2fproject.json",
        "..%2f..%2fproject.json",
    ):
        assert client.get(f"/p/one/runs/{run.name}/file/{name}").status == 404
    for name in ("..", "x", "%2e%2e", "20260101"):
        assert client.get(f"/p/one/runs/{name}").status == 404
    for name in ("project.json", "..%2fproject.json", "x.json"):
        assert client.get(f"/p/one/signed/{name}").status == 404


def test_a_verdict_is_shown_and_signed_and_the_bundle_holds_all(client, project):
    run = finished(project, "audit", code=1, files=AUDITED)
    here = f"/p/one/runs/{run.name}"
    shown = client.get(here).text
    assert "Above threshold: &lt;b&gt;no&lt;/b&gt;." in shown
    form = client.get(f"{here}/sign").text
    seen = form.split('name="seen" value="')[1].split('"')[0]
    said = {
        "seen": seen,
        "name": "<b>A</b>",
        "role": "DPO",
        "decision": "do not release",
        "reasons": "It leaks.",
    }
    unread = client.post(f"{here}/sign", said)
    assert unread.status == 400
    assert "say that you have read it" in unread.text
    assert "It leaks." in unread.text
    assert client.post(f"{here}/sign", {**said, "read": "yes"}).status == 303
    assert "&lt;b&gt;A&lt;/b&gt;" in client.get(here).text
    with zipfile.ZipFile(io.BytesIO(client.get(f"{here}/bundle.zip").body)) as archive:
        names = set(archive.namelist())
        assert names == {*AUDITED, f"signed/{run.name}-1.json", "digests.json"}
        assert json.loads(archive.read("digests.json"))["report.json"] == seen
    (run / "report.json").write_text(json.dumps({**REPORT, "x": 1}))
    assert "Changed since it was signed: report.json." in client.get(here).text


@pytest.mark.parametrize("code", [2, 70, 130, 137])
def test_what_did_not_end_well_is_no_report_and_cannot_be_signed(client, project, code):
    run = finished(project, "audit", code=code, files={**AUDITED, runner.ERRORS: "tabveil: at <fault>"})
    here = f"/p/one/runs/{run.name}"
    shown = client.get(here).text
    assert "Verdict" not in shown
    assert "tabveil: at &lt;fault&gt;" in shown
    assert client.get(f"{here}/sign").status == 404
    assert client.post(f"{here}/sign", {"name": "A"}).status == 404
    assert client.get(f"{here}/bundle.zip").status == 404


def test_reports_are_compared_by_the_names_of_their_releases(client, project):
    runs = [finished(project, "audit", about={"release": "a/b"}, files=AUDITED) for _ in range(2)]
    assert client.post("/p/one/compare", {"run": runs[0].name}).status == 400
    assert client.post("/p/one/compare", [("run", run.name) for run in runs]).status == 303
    command, folder = words(project)
    assert command == ["compare", "a-b.json", "a-b (2).json", "--html", "compare.html"]
    assert (folder / "a-b.json").read_text() == AUDITED["report.json"]


def test_run_again_asks_for_the_same(client, project):
    client.post("/p/one/audit", {"release": "given", "seed": "5"})
    command, first = words(project)
    here = f"/p/one/runs/{first.name}"
    assert client.post(f"{here}/again").status == 400  # it has not ended
    client.post(f"{here}/cancel")
    assert "cancelled" in client.get(here).text
    assert client.post(f"{here}/again").status == 303
    again, second = words(project)
    assert again == command
    assert second != first
    assert (second / "audit.yaml").read_text() == (first / "audit.yaml").read_text()


def test_a_form_begins_with_what_was_asked_before(client, project):
    answer = client.post(
        "/p/one/audit", {"release": "given", "title": "Try <one>", "policy.thresholds.inference": "0.02"}
    )
    run = answer.goes_to.rsplit("/", 1)[1]
    begun = client.post("/p/one/audit/begin", {"like": run})
    shown = client.get(begun.goes_to).text
    assert 'value="Try &lt;one&gt;"' in shown
    assert 'value="0.02"' in shown
    accepted = client.get(client.post("/p/one/audit/begin", {"accept": "0.09"}).goes_to).text
    assert accepted.count('value="0.09"') == 4
    assert client.get("/p/one/audit?like=../../x&accept=7").status == 200


def test_columns_are_inert_and_their_kinds_can_be_corrected(client, folder):
    name = "a<script>alert(1)</script>\"'"
    rows = "\n".join(f"{i % 3},<img src=x>,{i}" for i in range(40))
    (folder / "evil.csv").write_text(f'"{name.replace(chr(34), chr(34) * 2)}",label,code\n{rows}\n')
    client.post("/projects", {"name": "one"})
    client.post("/p/one/data", {"way": "one", "data": "evil.csv"})
    shown = waited_for(lambda: "40 rows" in (text := client.get("/p/one/columns").text) and text)
    assert "<script>" not in shown
    assert "<img" not in shown
    assert "&lt;img src=x&gt; (40)" in shown
    fields = [
        ("name", name),
        ("kind", "category"),
        ("name", "label"),
        ("kind", "category"),
        ("name", "code"),
        ("kind", "integer"),
    ]
    assert client.post("/p/one/columns", [*fields, ("drop", "code")]).status == 303
    project = Project.named(Below(folder.resolve()), "one")
    assert project.declared.columns[name].type == "category"
    assert project.declared.drop == ("code",)
    assert client.post("/p/one/columns", [("name", "other"), ("kind", "category")]).status == 400
    assert client.post("/p/one/columns", [("name", "label"), ("kind", "nonsense")]).status == 400
    assert project.declared.columns[name].type == "category"
    waited_for(lambda: "being read" not in client.get("/p/one/columns").text)


def test_a_project_file_that_was_damaged_stops_nothing_else(client, project):
    (project.folder / "project.json").write_text("nonsense")
    assert client.get("/style.css").status == 200
    answer = client.get("/")
    assert answer.status == 200
    assert "cannot be read" in answer.text
    assert client.get("/p/one").status == 404


def test_what_came_with_the_folder_is_shown_and_never_run(client, project, served):
    """A report may be read wherever it came from; its commands are somebody else's wishes."""
    run = finished(project, "audit", code=1, files=AUDITED)
    assert "Run it again" not in client.get(f"/p/one/runs/{run.name}").text
    answer = client.post(f"/p/one/runs/{run.name}/again")
    assert answer.status == 400
    assert "asked for elsewhere" in answer.text
    (run / runner.ENDED).unlink()
    shown = client.get(f"/p/one/runs/{run.name}").text
    assert "asked for elsewhere" in shown
    assert "Cancel" not in shown


def test_what_a_job_says_of_files_leads_nowhere_else(client, project, served, folder):
    (folder.parent / "secret.csv").write_text("x\n1\n")
    for out in ("../../../../secret.csv", str(folder.parent / "secret.csv"), "", ".."):
        finished(project, "make", about={"out": out, "train": "train.csv", "release": out or "none"})
    assert set(Rows.of(project, served.desk.jobs).releases) == {"given"}
    assert client.get("/p/one/release").status == 200
    elsewhere = folder.parent / "runs"
    elsewhere.mkdir()
    (project.folder / "runs" / "20260101-0").symlink_to(elsewhere)
    (elsewhere / runner.JOB).write_text('{"kind": "audit", "title": "x", "commands": []}')
    assert client.get("/p/one/runs/20260101-0").status == 404


KINDS = ("look", "split", "make", "audit", "compare", "pipeline", "tune", "benchmark", "?")


def test_every_kind_of_run_has_a_page_however_little_it_says(client, project):
    signed = {"name": "A", "role": "B", "decision": "release", "date": "", "verdict": "", "digests": {}}
    for kind, code in itertools.product(KINDS, (0, 2, 130, None)):
        run = finished(project, kind, code=code)
        if code is None:
            (run / runner.ENDED).unlink()
            runner.write(run / runner.STARTED, {})
        said = json.dumps({"run": run.name, **signed})
        (project.folder / "signed" / f"{run.name}-1.json").write_text(said)
        for report in (None, AUDITED["report.json"], "[]", "{"):
            if report is not None:
                (run / "report.json").write_text(report)
            for path in ("", "/progress"):
                assert client.get(f"/p/one/runs/{run.name}{path}").status == 200
    for path in ("", "/compare", "/audit", "/release"):
        assert client.get(f"/p/one{path}").status == 200
