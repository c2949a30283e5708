"""The file that repeats an audit: it asks for the same, survives any text, and holds no table."""

import json
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from supplies import made_reports as made
from supplies.html_documents import Document
from typer.testing import CliRunner

import tabveil
from tabveil import datasets
from tabveil.auditing import config
from tabveil.auditing.report import Report
from tabveil.auditing.request import AuditRequest
from tabveil.cli import app
from tabveil.core.result import Labels, Result
from tabveil.core.settings import yaml_files
from tabveil.engines.representation import Euclidean
from tabveil.errors import ParameterError
from tabveil.metrics.attacks import Linkability
from tabveil.metrics.registry import METRICS
from tabveil.render.audit.page import page

TABLES = {"train": "train.csv", "synthetic": "synthetic.csv", "control": "control.csv"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}{% raw %}",
    "\u202eevil\u2066\u200f\x1b[31m",
    "</pre></code>&amp;",
    "two\nlines: [a, b] # no remark",
    "\x85\u2028 ",
    "yes",
    "null",
    "~",
    "=",
    "2024-01-01",
    "1e5",
    "12:30:00",
    "- a",
    "naïve — ünï",
    "🙂\ufeff",
    " ",
    "x" * 3000,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with the three tables of an audit."""
    monkeypatch.chdir(tmp_path)
    people = datasets.hospital(240, seed=1)
    people.iloc[:100].to_csv("train.csv", index=False)
    people.iloc[100:170].to_csv("control.csv", index=False)
    pd.concat([people.iloc[:30], people.iloc[170:]]).to_csv("synthetic.csv", index=False)
    Path("policy.yaml").write_text("confidence: 0.9\nthresholds: {inference: 0.02}\n")
    Path("schema.yaml").write_text("columns: {ward: category}\n")
    Path("attackers.yaml").write_text("attackers: [{name: x, knows: [age], wants: [ward]}]\n")
    return tmp_path


def run(*args, code=0):
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    return result


def timeless(report):
    """A report as plain data, without the only thing that differs between equal audits."""

    def without(data: Any) -> Any:
        if isinstance(data, dict):
            return {key: without(value) for key, value in data.items() if key != "seconds"}
        return [without(item) for item in data] if isinstance(data, list) else data

    return without(json.loads(report if isinstance(report, str) else report.to_json()))


def again(report, path="again.yaml"):
    """Ask for the same, from the file that the report wrote."""
    Path(path).write_text(report.config(), encoding="utf-8")
    return tabveil.auditing.audit.conduct(AuditRequest.read(path))


# Round trips


def test_an_audit_is_repeated_from_its_own_report(folder):
    asked = [item for role, name in TABLES.items() for item in (f"--{role}", name)]
    asked += ["--metric", "inference", "--metric", "linkability", "--metric", "mmd", "--secret", "ward"]
    asked += ["--policy", "policy.yaml", "--schema", "schema.yaml", "--attackers", "attackers.yaml"]
    asked += ["--missing", "?", "--drop-identifiers", "--seed", "3", "--show-values", "--target", "outcome"]
    code = CliRunner().invoke(app, ["audit", *asked, "--html", "p.html", "--json", "first.json", "-q"])
    assert code.exit_code in (1, 3), code.output
    run("config", "first.json", "--out", "audit.yaml")
    run("audit", "--config", "audit.yaml", "--json", "second.json", "-q", code=code.exit_code)
    first, second = (timeless(Path(f"{name}.json").read_text()) for name in ("first", "second"))
    assert first["power"]
    assert first["portrait"]
    assert first == second


def test_metric_objects_are_repeated_with_their_parameters(folder):
    near = Euclidean(encoding="ordinal")
    metrics = [
        Linkability(n_neighbors=(1,), representation=near),
        "mmd",
        {"name": "linkability", "n_splits": 1, "representation": "euclidean"},
    ]
    report = tabveil.audit(
        *TABLES.values(),
        metrics=metrics,
        auxiliary=[(["age"], ["ward", "cost"])],
        policy={"confidence": 0.9},
        attackers=[{"name": "x", "links": [["sex"], ["cost"]]}],
    )
    assert report.request["metrics"] == [
        {
            "name": "linkability",
            "confidence": 0.95,
            "representation": {"name": "euclidean", "encoding": "ordinal"},
            "n_neighbors": [1],
            "auxiliary": None,
        },
        "mmd",
        {"name": "linkability", "n_splits": 1, "representation": "euclidean"},
    ]
    assert timeless(again(report)) == timeless(report)


def test_a_schema_given_in_python_is_repeated(folder):
    types = {"missing": ["?"], "columns": {"ward": "category", "cost": {"type": "real", "low": 0}}}
    report = tabveil.audit(*TABLES.values(), metrics="mmd", schema=types)
    assert report.request["schema"]["columns"]["ward"] == {"type": "category"}
    assert timeless(again(report)) == timeless(report)


def test_a_stored_report_says_the_same_as_a_fresh_one(folder):
    report = tabveil.audit(*TABLES.values(), metrics="mmd", seed=8)
    assert Report.from_json(report.to_json()).config() == report.config()
    assert report.config().splitlines()[-1] == "seed: 8"


def test_threads_are_the_machines_business(folder):
    reports = [tabveil.audit(*TABLES.values(), metrics="mmd", threads=threads) for threads in (1, 2, None)]
    assert timeless(reports[0]) == timeless(reports[1]) == timeless(reports[2])


PLAIN = st.text(max_size=12)
COLUMNS = st.lists(PLAIN, min_size=1, max_size=3, unique=True)
ASKED = st.fixed_dictionaries(
    {"train": st.just("t.csv"), "synthetic": st.just("s.csv")},
    optional={
        "missing": COLUMNS,
        "drop_identifiers": st.booleans(),
        "metrics": st.lists(
            st.one_of(
                st.sampled_from(["mmd", "inference"]),
                st.builds(lambda known: {"name": "inference", "known": known}, COLUMNS),
                st.just({"name": "linkability", "n_neighbors": [1], "auxiliary": None}),
            ),
            min_size=1,
            max_size=3,
        ),
        "quick": st.booleans(),
        "contrastive": st.sampled_from([True, False, {"epochs": 3}, {"preset": "paper", "device": "cuda"}]),
        "secrets": COLUMNS,
        "known": COLUMNS,
        "auxiliary": st.lists(st.tuples(COLUMNS, COLUMNS), min_size=1, max_size=2),
        "attackers": st.builds(lambda wants: [{"name": "x", "wants": wants}], COLUMNS),
        "policy": st.builds(lambda words: {"recipient": words, "confidence": 0.9}, PLAIN),
        "utility": st.booleans(),
        "target": COLUMNS,
        "power": st.sampled_from([True, False, "affordable"]),
        "portrait": st.booleans(),
        "advice": st.booleans(),
        "show_values": st.booleans(),
        "seed": st.integers(0, 2**70),
    },
)


def test_every_setting_has_a_meaning_and_every_line_a_comment_above_it(folder):
    aliases = {field.alias or name for name, field in AuditRequest.model_fields.items()}
    assert set(config.MEANINGS) == aliases - {"threads", "device", "memory", "scheduler"}
    report = tabveil.audit(*TABLES.values(), metrics="mmd", seed=8, policy={"confidence": 0.9})
    lines = report.config().splitlines()
    keys = [place for place, line in enumerate(lines) if re.match(r"\w+:", line)]
    assert [lines[place].partition(":")[0] for place in keys] == [*TABLES, "metrics", "policy", "seed"]
    assert all(lines[place - 1].startswith("# ") for place in keys)
    assert "# The release: the rows that are to be given away.\nsynthetic: synthetic.csv" in report.config()


@given(asked=ASKED, with_page=st.booleans())
def test_any_request_is_read_back_as_it_was_written(asked, with_page):
    request = AuditRequest.read(asked)
    request = request.for_page() if with_page else request
    text = config.text(json.loads(json.dumps(config.written(request))), {})
    back = AuditRequest.read(yaml.safe_load(text))
    assert back == request
    assert back.for_page() == request.for_page()


@given(
    data=st.dictionaries(
        PLAIN,
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | PLAIN,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
            max_leaves=6,
        ),
        max_size=4,
    )
)
def test_yaml_says_what_it_was_given_and_shows_every_character(data):
    text = yaml_files.to_yaml(data)
    assert (yaml.safe_load(text) or {}) == data
    hidden = {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert hidden <= {"\n"}


@pytest.mark.parametrize("text", HOSTILE)
def test_odd_names_survive_the_file_and_are_escaped_on_the_page(text):
    path = text.replace("/", "_")
    request = AuditRequest.read(
        train=path, synthetic="s.csv", secrets=[text], missing=[text], schema={"columns": {text: "category"}}
    )
    report = made.report(request=config.written(request))
    assert AuditRequest.read(yaml.safe_load(report.config())) == request
    written = page(report)
    (block,) = [texts for tag, _, texts in Document(written).elements if tag == "pre"]
    assert "".join(block) == report.config()
    assert written.count("<script") == 0
    raw = {char for char in "".join(block) if unicodedata.category(char) in {"Cc", "Cf"}} - {"\n"}
    assert raw == set()


# What it says, and what it does not


def test_only_what_differs_from_the_defaults_is_written():
    request = AuditRequest.read({**TABLES, "quick": False, "seed": 0, "missing": [], "threads": 3})
    assert config.written(request) == TABLES


def test_that_somebody_asked_to_be_judged_is_written():
    assert config.written(AuditRequest.read({**TABLES, "policy": {}}))["policy"] == {}
    assert "policy" not in config.written(AuditRequest.read(TABLES))


def test_what_was_refused_for_a_page_stays_refused():
    request = AuditRequest.read({**TABLES, "utility": False}).for_page()
    said = config.written(request)
    assert (said["utility"], said["power"], said["portrait"]) == (False, "affordable", True)
    assert AuditRequest.read(said).for_page() == request


def test_tables_in_memory_leave_a_gap_that_cannot_be_overlooked(tmp_path):
    tables = [datasets.hospital(60, seed=seed) for seed in (1, 2, 3)]
    report = tabveil.audit(*tables, metrics="mmd")
    assert [report.request[role] for role in TABLES] == [None] * 3
    text = report.config()
    assert "# train was no file but in memory (60 rows, 16 columns): name a file that holds it." in text
    path = tmp_path / "audit.yaml"
    path.write_text(text)
    with pytest.raises(ParameterError, match="control names no file"):
        AuditRequest.read(path)
    with pytest.raises(ParameterError, match="train is missing"):
        AuditRequest.read(path, control="c.csv")
    assert AuditRequest.read(path, **TABLES).metrics is not None


def test_no_value_of_the_tables_is_written(folder):
    marked = pd.read_csv("train.csv").assign(ward="unmistakable")
    report = tabveil.audit(marked, "synthetic.csv", "control.csv", metrics="mmd", schema="schema.yaml")
    assert "unmistakable" not in report.config()
    assert report.request["schema"] == "schema.yaml"  # labels in it stay where they are


@dataclass(frozen=True, kw_only=True)
class Own:
    """Is this one of ours?"""

    name: ClassVar[str] = "own\n# injected: true"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="distance")
    table: Any = None
    level: float = 0.5

    def __call__(self, split, *, rng):
        return Result(metric=self.name, labels=self.labels)


def test_a_metric_that_is_not_registered_is_pointed_out_and_nothing_of_its_data_is_shown(folder):
    own = Own(table=pd.DataFrame({"a": ["unmistakable"]}), level=float("inf"))
    text = tabveil.audit(*TABLES.values(), metrics=[own, "mmd"]).config()
    assert "# Not a metric of tabveil, add it with METRICS.add: 'own\\n# injected: true'\n" in text
    assert "unmistakable" not in text
    said = yaml.safe_load(text)
    assert said["metrics"] == [{"name": Own.name, "table": "<DataFrame>", "level": "inf"}, "mmd"]
    assert "injected" not in said
    with METRICS.adding(Own):
        assert "Not a metric" not in config.text(said, {})


def test_a_name_that_is_not_utf_8_leaves_a_gap(folder):
    name = b"tr\xffin.csv".decode("utf-8", "surrogateescape")
    Path("train.csv").rename(name)
    report = tabveil.audit(name, "synthetic.csv", metrics="mmd")
    assert report.request["train"] is None
    report.to_json().encode()
    page(report).encode()


# The command, and the page


def test_the_command_writes_or_prints_it(folder):
    asked = [item for role, name in TABLES.items() for item in (f"--{role}", name)]
    run("audit", *asked, "--metric", "mmd", "--json", "report.json", "-q")
    printed = run("config", "report.json").stdout
    assert yaml.safe_load(printed) == {**TABLES, "metrics": ["mmd"]}
    run("config", "report.json", "--out", "audit.yaml")
    assert Path("audit.yaml").read_text() == printed
    assert "--force" in run("config", "report.json", "--out", "audit.yaml", code=2).stderr
    run("config", "report.json", "--out", "audit.yaml", "--force")
    assert "something else" in run("config", "report.json", "--out", "report.json", code=2).stderr
    assert "no such file" in run("config", "absent.json", code=2).stderr
    assert max(map(len, printed.splitlines())) <= 80


def test_a_file_in_another_folder_leads_to_the_same_tables(folder):
    Path("deep/er").mkdir(parents=True)
    away = (folder / "control.csv").as_posix()
    asked = ["--train", "train.csv", "--synthetic", "synthetic.csv", "--control", away]
    run("audit", *asked, "--schema", "schema.yaml", "--metric", "mmd", "--json", "report.json", "-q")
    run("config", "report.json", "--out", "deep/er/audit.yaml")
    said = yaml.safe_load(Path("deep/er/audit.yaml").read_text())
    assert (said["train"], said["control"]) == ("../../train.csv", away)
    run("audit", "--config", "deep/er/audit.yaml", "--json", "again.json", "-q")
    first, second = (timeless(Path(f"{name}.json").read_text()) for name in ("report", "again"))
    assert first.pop("request") != second.pop("request")  # another way to the same files
    assert first == second


def test_a_report_that_does_not_hold_it_says_so(folder):
    Path("made.json").write_text(made.report(request={}).to_json())
    assert "does not hold what the audit was asked for" in run("config", "made.json", code=2).stderr
    assert "To repeat this audit" not in page(Report.read("made.json"))
    Path("broken.json").write_text(json.dumps({**json.loads(made.report().to_json()), "request": 3}))
    assert "not a report of this version" in run("config", "broken.json", code=2).stderr


@pytest.mark.parametrize("metrics", [3, "mmd", [3, None, {}, {"name": []}, "own"]])
def test_what_somebody_wrote_into_a_report_is_repeated_as_it_stands(metrics):
    text = made.report(request={**TABLES, "metrics": metrics}).config()
    assert yaml.safe_load(text) == {**TABLES, "metrics": metrics}


def test_a_file_too_long_for_the_page_is_left_to_the_command():
    many = made.report(request={**TABLES, "secrets": [f"column {place}" for place in range(3000)]})
    text = Document(page(many)).text
    assert "too long to be shown here" in text
    assert "column 2999" not in text


def test_records_are_written_by_the_report(folder):
    report = tabveil.audit(*TABLES.values(), metrics="identical_match_share")
    report.write_sensitive_records("scores.csv")
    report.write_sensitive_records(Path("scores.PARQUET"))
    assert pd.read_csv("scores.csv")["score"].sum() == 30
    pd.testing.assert_frame_equal(pd.read_parquet("scores.PARQUET"), report.sensitive_records())
    with pytest.raises(ParameterError, match=r"must end in \.csv or \.parquet, got scores\.txt"):
        report.write_sensitive_records("scores.txt")
