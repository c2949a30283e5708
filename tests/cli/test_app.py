import json
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from supplies.broken_inputs import BROKEN, SECRET
from supplies.terminal import AUDIT, refused, run

from tabveil import cli, datasets
from tabveil.auditing import audit as auditor
from tabveil.auditing.report import Report
from tabveil.cli import demo, files
from tabveil.cli.exit_codes import exit_code
from tabveil.core.rng import stream
from tabveil.core.storage.files import write_text
from tabveil.errors import ParameterError
from tabveil.metrics.registry import METRICS, defaults
from tabveil.tables import reading as frame

TABVEIL = str(Path(sys.executable).with_name("tabveil"))


def work_in(place, monkeypatch):
    """Work in a folder with the three tables of an audit."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "80")
    people = datasets.hospital(240, seed=1)
    people.iloc[:100].to_csv("train.csv", index=False)
    people.iloc[100:170].to_csv("control.csv", index=False)
    pd.concat([people.iloc[:30], people.iloc[170:]]).to_csv("synthetic.csv", index=False)
    return place


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return work_in(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """One audit by all that runs by default: what it said, and the report."""
    with pytest.MonkeyPatch.context() as patch:
        work_in(tmp_path_factory.mktemp("audited"), patch)
        result = run(*AUDIT, "--json", "report.json", "--threads", 1, "--seed", 3)
        assert result.exit_code == 0, result.output
        return result, Path("report.json").read_text()


def test_audit_prints_a_table_of_80_columns(audited):
    result, _ = audited
    assert "diagnostics, not evidence of anonymity" in result.stdout
    said = " ".join(result.stdout.split())
    for name in defaults(words=False):
        assert METRICS[name].title.split()[0] in said
        assert "_" not in name or name not in said, "titles, no code names"
    line = next(line for line in result.stdout.splitlines() if line.startswith("Identical rows"))
    assert line.rstrip().endswith("above zero")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert result.stderr == ""


def test_json_file_is_the_report(folder):
    assert (
        run(*AUDIT, "--json", "report.json", "--seed", 7, "--metric", "identical_match_share").exit_code == 0
    )
    data = json.loads(Path("report.json").read_text())
    assert list(data) == [
        *("tabveil", "title", "seed", "inputs", "verdict", "policy", "results", "skipped", "notes"),
        *("dropped", "metrics", "settings", "request", "attackers", "control", "copies", "traces", "advice"),
        "seconds",
    ]
    assert data["seed"] == 7
    assert data["inputs"]["train"]["rows"] == 100
    assert [item["metric"] for item in data["results"]] == ["identical_match_share"]
    assert set(data["results"][0]["risk"]) == {"value", "low", "high", "n"}
    assert Report.from_json(Path("report.json").read_text()).seed == 7
    assert not list(Path().glob(".*"))  # nothing temporary is left


def test_json_on_standard_output_is_nothing_but_json(folder):
    result = run(*AUDIT, "--json", "-", "--metric", "identical_match_share")
    assert json.loads(result.stdout)["results"]
    assert "Identical rows" in result.stderr
    assert run(*AUDIT, "--json", "-", "--quiet", "--metric", "identical_match_share").stderr == ""


def test_quiet_prints_nothing(folder):
    result = run(*AUDIT, "--quiet", "--json", "report.json", "--metric", "identical_match_share")
    assert (result.exit_code, result.output) == (0, "")
    assert Path("report.json").exists()


@pytest.mark.parametrize(("name", "read"), [("r.csv", pd.read_csv), ("r.parquet", pd.read_parquet)])
def test_records_are_written_with_a_warning(folder, name, read):
    result = run(*AUDIT, "--metric", "identical_match_share", "--records", name)
    assert result.exit_code == 0
    assert "single people" in result.stderr
    records = read(name)
    assert list(records.columns) == ["metric", "table", "row", "score"]
    assert records["score"].sum() == 30


def test_records_are_off_by_default(audited):
    _, report = audited
    assert '"scores"' not in report


def test_same_seed_same_answer_on_any_number_of_threads(folder, audited):
    answers = []
    for report in (audited[1], run(*AUDIT, "--json", "-", "-q", "--threads", 2, "--seed", 3).stdout):
        results = json.loads(report)["results"]
        answers.append([{k: v for k, v in item.items() if k != "seconds"} for item in results])
    assert answers[0] == answers[1]


def test_without_control_the_table_says_that_little_can_be_concluded(folder):
    result = run(*AUDIT[:5])
    assert result.exit_code == 0
    assert "little can be concluded" in result.stdout


def test_schema_is_written_edited_and_used(folder):
    assert run("schema", "train.csv", "--out", "schema.yaml").exit_code == 0
    assert Path("schema.yaml").read_text() == run("schema", "train.csv").stdout
    asked = ("--schema", "schema.yaml", "--metric", "identical_match_share", "--json", "-", "-q")
    assert json.loads(run(*AUDIT, *asked).stdout)["results"]
    assert "--force" in refused("schema", "train.csv", "--out", "schema.yaml")
    assert run("schema", "train.csv", "--out", "schema.yaml", "--force").exit_code == 0


@pytest.mark.parametrize("kind", ["csv", "parquet", "csv.gz"])
def test_split_writes_the_same_kind_and_loses_nobody(folder, kind):
    people = datasets.hospital(100, seed=2)
    data = Path(f"people.{kind}")
    people.to_parquet(data) if kind == "parquet" else people.to_csv(data, index=False)
    result = run("split", "--data", data, "--control", 0.3, "--out", "parts")
    assert result.exit_code == 0, result.output
    read = pd.read_parquet if kind == "parquet" else pd.read_csv
    parts = [read(f"parts/{name}.{kind}") for name in ("train", "control")]
    assert [len(part) for part in parts] == [70, 30]
    assert "70 rows" in result.stdout
    both = pd.concat(parts).sort_values("cost", ignore_index=True)
    whole = read(data).sort_values("cost", ignore_index=True)
    pd.testing.assert_frame_equal(both, whole)


def test_split_keeps_people_together_and_refuses_to_replace(folder):
    visits = pd.DataFrame({"patient": [i // 4 for i in range(200)], "value": range(200)})
    visits.to_csv("visits.csv", index=False)
    asked = ("split", "--data", "visits.csv", "--by", "patient", "--control", 0.25, "--out", "parts")
    assert run(*asked).exit_code == 0
    sides = [set(pd.read_csv(f"parts/{name}.csv")["patient"]) for name in ("train", "control")]
    assert not sides[0] & sides[1]
    assert "--force" in refused(*asked)
    assert run(*asked, "--force").exit_code == 0


def test_metrics_lists_questions_and_labels(folder):
    text = run("metrics").stdout
    for name, metric in METRICS.items():
        assert f"{name}: {metric.title}" in text
        assert metric.labels.mechanism in text
    assert text.count("?") >= len(METRICS)


def test_a_metric_is_given_with_its_parameters(folder):
    wanted = "{name: linkability, n_neighbors: [3], representation: {name: euclidean, encoding: ordinal}}"
    result = run(*AUDIT, "--metrics", wanted, "--metrics", "mmd", "--json", "-", "--quiet")
    assert result.exit_code == 0, result.output
    found = {item["metric"]: item["params"] for item in json.loads(result.stdout)["results"]}
    assert list(found) == ["linkability", "mmd"]
    assert found["linkability"]["n_neighbors"] == [3]
    assert found["linkability"]["representation"]["settings"] == {"encoding": "ordinal"}
    assert "no setting 'n_neighbor'" in refused(*AUDIT, "--metrics", "{name: linkability, n_neighbor: 3}")
    assert "--metrics: line 1: not valid YAML" in refused(*AUDIT, "--metrics", "{name: linkability")
    assert "must also have a name" in refused(*AUDIT, "--metrics", "{n_neighbors: 3}")


def test_help_teaches(folder):
    assert "tabveil demo" in run("--help").stdout
    assert run().stdout == run("--help").stdout
    for command in ("audit", "split", "schema", "demo"):
        text = run(command, "--help").stdout
        assert f"tabveil {command} --" in text.replace("schema patients.csv ", "schema ")
        assert max(map(len, text.splitlines())) <= 80


def test_version(folder):
    assert run("--version").stdout.startswith("tabveil ")


# The demo


@pytest.fixture
def small_demo(monkeypatch):
    for name, size in {"N_TRAIN": 400, "N_CONTROL": 200, "N_RELEASE": 400}.items():
        monkeypatch.setattr(demo, name, size)


def test_demo_sets_the_leaky_release_beside_the_clean_one(folder, small_demo, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(TABVEIL).parent))
    result = run("demo", "--out", "show", "--svg", "show.svg")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    line = next(line for line in result.stdout.splitlines() if line.startswith("Identical rows"))
    assert line.split()[-1] == "leaky"
    assert "tabveil split --data" in result.stdout
    reports = {name: Report.from_json(Path(f"show/{name}.json").read_text()) for name in ("clean", "leaky")}
    assert (
        reports["clean"]["identical_match_share"].risk.low
        <= 0
        < reports["leaky"]["identical_match_share"].risk.low
    )
    picture = Path("show.svg").read_text()
    assert "Identical" in picture
    assert picture.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    monkeypatch.setattr(demo, "_audit", lambda folder, name, seed: reports[name])
    assert run("demo", "--out", "show").exit_code == 0  # again, over its own files


def test_demo_names_the_program_as_it_can_be_typed(folder, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert demo._program().endswith("bin/tabveil")
    monkeypatch.setenv("PATH", str(Path(TABVEIL).parent))
    assert demo._program() == "tabveil"


def test_demo_plants_what_it_says():
    train, fresh = datasets.hospital(200, seed=1), datasets.hospital(200, seed=2)
    loaded = frame.load_split(train, fresh)
    leaky = demo.plant(loaded.split.train, loaded.split.synthetic, rng=stream(0, "demo"))
    mixed = frame.to_native(leaky, loaded.layout)
    assert len(mixed) == 200
    assert len(mixed.merge(train, how="inner", on=list(train.columns))) == 10
    assert len(mixed.merge(fresh, how="inner", on=list(train.columns))) == 180
    steady = ["age", "sex", "region", "insurance", "ward", "diagnosis", "systolic", "days"]
    both = mixed.merge(train, how="inner", on=steady, suffixes=("", "_before"))
    assert len(both) == 20
    by = (both["cost"] / both["cost_before"] - 1).abs()
    assert (by > 0).sum() == 10
    assert by.max() < 0.08  # four standard deviations
    assert dict(mixed.dtypes) == dict(train.dtypes)


def test_demo_never_writes_over_files_it_did_not_make(folder):
    before = Path("train.csv").read_bytes()
    assert "train.csv" in refused("demo", "--out", ".")
    assert Path("train.csv").read_bytes() == before


# Every fault is one line


@pytest.mark.parametrize(
    ("args", "fragment"),
    [
        (("audit",), "'--train'"),
        (("audit", "--train"), "--train"),
        (("audit", "--nonsense"), "--nonsense"),
        (("nonsense",), "nonsense"),
        (("--nonsense",), "--nonsense"),
        (("schema",), "FILE"),
        ((*AUDIT, "--seed", "x"), "--seed"),
        ((*AUDIT, "--seed", "-1"), "--seed"),
        ((*AUDIT, "--threads", "0"), "--threads"),
        ((*AUDIT, "--metric", "closest_shar"), "Did you mean 'closest_share'"),
        ((*AUDIT, "--json", "nowhere/report.json"), "no folder nowhere"),
        ((*AUDIT, "--json", "."), "is a folder"),
        ((*AUDIT, "--json", "/dev/null"), "not an ordinary file"),
        ((*AUDIT, "--json", "train.csv"), "train.csv"),
        ((*AUDIT, "--records", "train.csv"), "train.csv"),
        ((*AUDIT, "--records", "records.txt"), ".csv or .parquet"),
        ((*AUDIT, "--records", "nowhere/records.csv"), "no folder nowhere"),
        ((*AUDIT, "--json", "a.csv", "--records", "a.csv"), "a.csv"),
        ((*AUDIT, "--schema", "absent.yaml"), "absent.yaml"),
        (("audit", "--train", "absent.csv", "--synthetic", "synthetic.csv"), "absent.csv"),
        (("schema", "absent.csv"), "absent.csv"),
        (("split", "--data", "absent.csv", "--out", "parts"), "absent.csv"),
        (("split", "--data", "train.csv", "--control", "1.5", "--out", "parts"), "control"),
        (("split", "--data", "train.csv", "--by", "agee", "--out", "parts"), "age"),
        (("split", "--data", "train.csv", "--out", "train.csv"), "is a file"),
        (("split", "--data", "train.csv", "--out", ".", "--force"), "train.csv"),
        (("demo", "--out", "train.csv"), "is a file"),
    ],
)
def test_a_fault_is_one_line_and_exit_code_2(folder, args, fragment):
    before = set(folder.iterdir())
    assert fragment in refused(*args)
    assert set(folder.iterdir()) - {folder / "parts"} == before


def as_options(arguments):
    """Spell the arguments of ``load_split`` as options."""
    for name, value in arguments.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            yield from [option] * value
        elif isinstance(value, (str, Path)):
            yield from (option, value)
        else:
            for item in value:
                yield from (option, item)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_every_broken_input_is_one_line_and_exit_code_2(folder, case):
    line = refused("audit", *as_options(case.arguments(folder)))
    assert case.fragment in line
    assert SECRET not in line


def test_an_unwritable_place_is_found_out_before_the_long_work(folder, monkeypatch):
    monkeypatch.setattr(auditor, "load", lambda *args, **kwargs: pytest.fail("read the tables"))
    refused(*AUDIT, "--json", "nowhere/report.json")
    refused(*AUDIT, "--records", "nowhere/records.csv")
    refused(*AUDIT, "--metric", "nonsense")


def test_without_its_extra_the_contrastive_space_is_one_line(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    line = refused(*AUDIT, "--contrastive")
    assert line == "tabveil: contrastive: needs PyTorch: pip install tabveil[deep]."


def test_the_contrastive_space_is_shown_beside_the_mixed_distance(folder, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("COLUMNS", "80")
    told = {"contrastive": {"epochs": 2, "width": 16, "layers": 1, "dimension": 8}}
    Path("space.json").write_text(json.dumps(told))
    result = run(*AUDIT, "--config", "space.json", "--metrics", "linkability", "--html", "page.html")
    assert result.exit_code == 0, result.output
    assert "The contrastive space beside the mixed distance" in result.stdout
    assert "Inference, contrastive" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    page = Path("page.html").read_text(encoding="utf-8")
    assert 'id="contrastive"' in page
    assert "fits a model to every release" in page, "power that comes with a page leaves trainings out"


def test_our_own_fault_is_one_line_without_values_and_says_how_to_see_more(folder, monkeypatch):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("a secret value")

    monkeypatch.setattr(auditor, "load_split", fail)
    line = refused(*AUDIT, code=70)
    assert "TABVEIL_DEBUG=1" in line
    assert "ZeroDivisionError" in line
    assert "secret" not in line
    monkeypatch.setenv("TABVEIL_DEBUG", "1")
    assert isinstance(run(*AUDIT).exception, ZeroDivisionError)


def test_interruption_is_one_line(folder, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(auditor, "load_split", interrupt)
    assert refused(*AUDIT, code=130) == "tabveil: interrupted."


@pytest.mark.parametrize(
    ("error", "fragment"),
    [(OSError(28, "No space left on device", "out.json"), "out.json: No space"), (MemoryError(), "memory")],
)
def test_trouble_with_the_machine_is_one_line(capsys, error, fragment):
    def fail():
        raise error

    assert exit_code(fail) == 2
    assert fragment in capsys.readouterr().err


def test_a_file_is_written_completely_or_not_at_all(tmp_path):
    target = tmp_path / "report.json"
    write_text(target, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(target, "new, but then \ud800")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_followed_not_replaced(tmp_path):
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_text(files.writable("--json", link, force=True), "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_folder_without_permission_is_refused(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)  # root, who runs many a test, may write everywhere
    with pytest.raises(ParameterError, match=r"cannot write into .*: Permission denied"):
        files.writable("--json", tmp_path / "report.json", force=False)
    with pytest.raises(ParameterError, match="cannot write into"):
        files.folder("--out", tmp_path)


# As a real program


def test_the_program_itself(folder):
    done = subprocess.run(
        [TABVEIL, *AUDIT, "--metric", "identical_match_share"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert all("% done: " in line for line in done.stderr.splitlines())  # on a slow machine
    assert "above zero" in done.stdout
    bad = subprocess.run([TABVEIL, "audit", "--train", "x"], capture_output=True, text=True, check=False)
    assert (bad.returncode, len(bad.stderr.splitlines()), bad.stdout) == (2, 1, "")


def test_help_does_not_wait_for_pandas(folder):
    code = (
        "import sys\nfrom tabveil.cli import app\ntry:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(sum(name in sys.modules for name in ('pandas', 'numba', 'sklearn', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_ctrl_c_ends_with_130(folder, ctrl_c_is_heard):
    code = (
        "import time\nfrom tabveil.auditing import audit as auditor\nfrom tabveil.cli import main\n"
        "auditor.load_split = lambda *_, **__: (print('reading', flush=True), time.sleep(60))\nmain()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *AUDIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[1] == "tabveil: interrupted.\n"
    assert process.returncode == 130


def test_every_command_stands_in_a_file_of_its_own_that_is_named_once():
    files_of_commands = {
        path.stem for path in Path(cli.__file__).parent.glob("*.py") if "def register(" in path.read_text()
    }
    named = [module.__name__.rpartition(".")[2] for module in sys.modules["tabveil.cli.app"].COMMANDS]
    assert sorted(named) == sorted(files_of_commands)
