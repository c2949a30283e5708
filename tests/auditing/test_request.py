"""What is asked for: every way in makes the same request, and every fault is one line that names its key."""

import json
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

import tabveil
from tabveil.auditing import audit as auditor
from tabveil.auditing.attackers import Attacker
from tabveil.auditing.policy import Policy
from tabveil.auditing.request import AuditRequest, files_named
from tabveil.cli import app
from tabveil.engines.representation import Contrastive
from tabveil.errors import ParameterError, SchemaError, TabveilError
from tabveil.metrics.attacks import Linkability
from tabveil.metrics.registry import MetricChoice

TABLES = {"train": "train.csv", "synthetic": "synthetic.csv", "control": "control.csv"}
POLICY = {"recipient": "a partner", "thresholds": {"inference": 0.02}}
PROFILES = [{"name": "broker", "links": [["age"], ["ward", "cost"]]}]
ASKED = {
    **TABLES,
    "schema": "schema.yaml",
    "missing": ["?", "none"],
    "drop_identifiers": True,
    "metrics": ["inference", "mmd"],
    "quick": True,
    "contrastive": True,
    "secrets": ["ward"],
    "known": ["age", "sex"],
    "auxiliary": [[["age"], ["ward", "cost"]]],
    "quasi_identifiers": ["age", "sex"],
    "sensitive": ["cost"],
    "attackers": "attackers.yaml",
    "policy": "policy.yaml",
    "utility": True,
    "target": ["outcome"],
    "power": True,
    "advice": False,
    "show_values": True,
    "title": "Visits 2024, release 2 (Example Hospital)",
    "seed": 5,
    "threads": 2,
}
OPTIONS = (
    *("--train", "train.csv", "--synthetic", "synthetic.csv", "--control", "control.csv"),
    *("--schema", "schema.yaml", "--missing", "?", "--missing", "none", "--drop-identifiers"),
    *(
        "--metric",
        "inference",
        "--metric",
        "mmd",
        "--quick",
        "--contrastive",
        "--secret",
        "ward",
        "--known",
        "age",
    ),
    *("--known", "sex", "--auxiliary", "age|ward,cost", "--attackers", "attackers.yaml"),
    *("--quasi-identifiers", "age", "--quasi-identifiers", "sex", "--sensitive", "cost"),
    *(
        "--policy",
        "policy.yaml",
        "--utility",
        "--target",
        "outcome",
        "--power",
        "--no-advice",
        "--show-values",
    ),
    *("--title", "Visits 2024, release 2 (Example Hospital)", "--seed", "5", "--threads", "2"),
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("policy.yaml", POLICY)
    write("attackers.yaml", {"attackers": PROFILES})
    write("schema.yaml", {"columns": {"ward": "category"}})
    return tmp_path


def write(name, data):
    text = json.dumps(data) if name.endswith(".json") else yaml.safe_dump(data)
    Path(name).write_text(text, encoding="utf-8")
    return name


class Heard(Exception):  # noqa: N818 - what a stand-in for the audit was asked
    def __init__(self, request):
        self.request = request


@pytest.fixture
def listening(monkeypatch):
    """Audits that tell what they were asked, and do nothing."""

    def conduct(request, *, progress=None):
        raise Heard(request)

    monkeypatch.setattr(auditor, "conduct", conduct)
    monkeypatch.setenv("TABVEIL_DEBUG", "1")


def from_command_line(*args):
    found = CliRunner().invoke(app, ["audit", *args]).exception
    assert isinstance(found, Heard), found
    return found.request


def from_python(*args, **settings):
    with pytest.raises(Heard) as caught:
        tabveil.audit(*args, **settings)
    return caught.value.request


# Every way in


def test_every_way_in_makes_the_same_request(folder, listening):
    expected = AuditRequest.read(**ASKED)
    assert AuditRequest.read(ASKED) == expected
    assert AuditRequest.read(write("audit.yaml", ASKED)) == expected
    assert AuditRequest.read(Path(write("audit.json", ASKED))) == expected
    assert from_command_line(*OPTIONS) == expected
    assert from_command_line("--config", "audit.yaml") == expected
    rest = {key: value for key, value in ASKED.items() if key not in TABLES}
    assert from_python(*TABLES.values(), **rest) == expected


def test_nothing_but_tables_is_the_default_in_every_way(folder, listening):
    expected = AuditRequest.read(**TABLES)
    assert AuditRequest.read(write("audit.yaml", TABLES)) == expected
    assert from_command_line(*OPTIONS[:6]) == expected
    assert from_python(*TABLES.values()) == expected
    assert expected.policy is None
    assert expected.judged_by == Policy()


def test_attackers_policy_and_schema_may_stand_inline(folder):
    inline = {"attackers": PROFILES, "policy": POLICY}
    asked = {**ASKED, **inline}
    assert AuditRequest.read(asked) == AuditRequest.read(ASKED)
    assert AuditRequest.read({**ASKED, "attackers": {"attackers": PROFILES}}) == AuditRequest.read(ASKED)
    assert AuditRequest.read(write("audit.yaml", asked)).attackers == (Attacker(**PROFILES[0]),)
    typed = AuditRequest.read({**TABLES, "schema": {"columns": {"ward": "category"}}})
    assert typed.column_types.columns["ward"].type == "category"


def test_one_text_is_a_list_of_one_where_that_is_clear():
    request = AuditRequest.read({**TABLES, "missing": "NA", "target": "outcome", "metrics": "mmd"})
    assert (request.missing, request.target) == (("NA",), ("outcome",))
    assert request.metrics == (MetricChoice(name="mmd"),)


def test_metrics_have_parameters_of_their_types():
    entry = {"name": "linkability", "n_neighbors": [1], "auxiliary": [[["age"], ["ward"]]]}
    request = AuditRequest.read({**TABLES, "metrics": ["mmd", entry, "mmd"]})
    assert request.metrics == (
        MetricChoice(name="mmd"),
        MetricChoice(
            name="linkability", parameters={"n_neighbors": (1,), "auxiliary": ((("age",), ("ward",)),)}
        ),
    )


def test_metric_objects_are_taken_as_they_are():
    request = AuditRequest.read({**TABLES, "metrics": [Linkability(n_neighbors=(1,)), Linkability]})
    assert request.metrics == (Linkability(n_neighbors=(1,)), Linkability())


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_tables_in_memory_are_handed_on_untouched(make):
    table = make({"a": [1, 2]})
    request = AuditRequest.read(train=table, synthetic=table)
    assert request.train is table
    assert "1" not in repr(request)  # a request may be logged, the data may not


@pytest.mark.parametrize(
    ("asked", "space"),
    [
        (True, Contrastive()),
        ("yes", Contrastive()),
        ({}, Contrastive()),
        ({"epochs": 5, "preset": "paper"}, Contrastive(epochs=5, preset="paper")),
        (Contrastive(jitter=0.1), Contrastive(jitter=0.1)),
        (False, None),
    ],
)
def test_an_embedding_may_be_told_how_to_train(asked, space):
    assert AuditRequest.read({**TABLES, "contrastive": asked}).contrastive == space


def test_a_request_never_changes():
    request = AuditRequest.read(TABLES)
    with pytest.raises(ValueError, match="frozen"):
        request.seed = 3


# Files and options together


def test_what_is_given_by_name_comes_first(folder, listening):
    write("audit.yaml", {**ASKED, "policy": POLICY})
    request = from_command_line(
        *("--config", "audit.yaml", "--seed", "9", "--metric", "mmd", "--synthetic", "other.csv"),
        *("--no-quick", "--keep-all", "--hide-values", "--no-power"),
    )
    assert (request.seed, request.synthetic) == (9, Path("other.csv"))
    assert request.metrics == (MetricChoice(name="mmd"),)
    turned_off = (request.quick, request.drop_identifiers, request.show_values, request.power)
    assert turned_off == (False,) * 4
    assert (request.train, request.secrets) == (Path("train.csv"), ("ward",))
    assert request.policy == Policy(**POLICY)


def test_one_threshold_for_all_keeps_the_rest_of_the_policy(folder, listening):
    write("audit.yaml", {**TABLES, "policy": POLICY})
    policy = from_command_line("--config", "audit.yaml", "--fail-above", "0.3").policy
    assert policy == Policy(**POLICY).with_threshold(0.3)
    assert policy.recipient == "a partner"


def test_relative_paths_start_at_the_folder_of_the_file(folder, monkeypatch):
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder)
    Path("deep/policy.yaml").write_text("recipient: deep\n")
    Path("deep/attackers.yaml").write_text(yaml.safe_dump({"attackers": PROFILES}))
    absolute = str(folder / "elsewhere.csv")
    write("deep/audit.yaml", {**ASKED, "control": absolute})
    request = AuditRequest.read("deep/audit.yaml", synthetic="synthetic.csv")
    assert request.train == Path("deep/train.csv")
    assert request.control == Path(absolute)
    assert request.synthetic == Path("synthetic.csv")
    assert request.column_types == Path("deep/schema.yaml")
    assert request.policy.recipient == "deep"


def test_every_file_that_is_read_is_known_beforehand(folder):
    (folder / "deep").mkdir()
    write("deep/audit.yaml", {**ASKED, "attackers": PROFILES})
    named = files_named("deep/audit.yaml", synthetic=Path("mine.csv"), control=None)
    expected = ["deep/audit.yaml", "deep/train.csv", "mine.csv", "deep/control.csv", "deep/schema.yaml"]
    assert list(map(str, named)) == [*expected, "deep/policy.yaml"]


@pytest.mark.parametrize("name", ["train.csv", "policy.yaml", "audit.yaml", "schema.yaml"])
def test_no_file_of_a_config_is_written_over(folder, name):
    write("audit.yaml", ASKED)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = CliRunner().invoke(app, ["audit", "--config", "audit.yaml", "--json", name])
    assert result.exit_code == 2
    assert f"--json: {name} is also used for something else" in result.stderr
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


# A page


@pytest.mark.parametrize(
    ("released", "title", "heading"),
    [
        ("out/adult_ctgan.v2.parquet", "", "adult_ctgan.v2"),
        ("out.csv.gz", "", "out"),
        ("out.csv", "  Visits\n2024 ", "Visits 2024"),
        ("\udcff\u202eout.csv", "", "out"),
        (pd.DataFrame(), "", ""),
        (pd.DataFrame(), "Visits", "Visits"),
    ],
)
def test_a_report_is_called_as_asked_or_like_the_released_file(released, title, heading):
    assert AuditRequest.read(train="t.csv", synthetic=released, title=title).heading == heading


def test_a_title_is_a_text_of_one_line():
    with pytest.raises(ParameterError, match="title"):
        AuditRequest.read(**TABLES, title="x" * 201)
    with pytest.raises(ParameterError, match="title"):
        AuditRequest.read(**TABLES, title=3)


def test_a_page_brings_what_it_shows_unless_something_was_decided():
    page = AuditRequest.read(TABLES).for_page()
    assert (page.utility, page.power, page.portrait) == (True, "affordable", True)
    decided = AuditRequest.read({**TABLES, "utility": False, "power": True}).for_page()
    assert (decided.utility, decided.power, decided.portrait) == (False, True, True)
    assert decided.for_page() == decided


def test_only_html_makes_a_page_of_it(folder, listening):
    tables = OPTIONS[:6]
    assert from_command_line(*tables, "--html", "page.html") == AuditRequest.read(TABLES).for_page()
    assert not from_command_line(*tables, "--json", "report.json").utility
    assert from_command_line(*tables, "--html", "page.html", "--no-power").power is False


def test_python_asks_for_what_a_page_shows_by_name(listening):
    tables = list(TABLES.values())
    assert from_python(*tables, power=None).power == "affordable"
    assert from_python(*tables, power=True, utility=True).for_page().power is True
    assert from_python(*tables).for_page().utility is True


# Faults


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"metrix": ["mmd"]}, "metrix: unknown key. Did you mean 'metrics'?"),
        ({"column_types": "x.yaml"}, "column_types: unknown key."),
        ({1: 2}, "1: "),
        ({"train": None}, "train is missing: the real rows the generator learned from."),
        ({"synthetic": None}, "synthetic is missing: the rows to be released."),
        ({"control": None}, "control names no file; name one, or take the line out."),
        ({"train": 5}, "train must be the path of a file, got int."),
        ({"control": ["c.csv"]}, "control must be the path of a file, got list."),
        ({"seed": "3"}, "seed must be a whole number, got str."),
        ({"seed": -1}, "seed must be >= 0, got -1."),
        ({"threads": 0}, "threads must be >= 1, got 0."),
        ({"quick": "perhaps"}, "quick must be true or false, got 'perhaps'."),
        ({"contrastive": 3}, "contrastive must be true or false, got 3."),
        ({"contrastive": {"epoch": 3}}, "contrastive: no setting 'epoch'. Did you mean 'epochs'?"),
        ({"contrastive": {"epochs": 0}}, "contrastive: epochs must be >= 1, got 0."),
        ({"utility": 1}, "utility must be true or false, got 1."),
        ({"power": "often"}, "power must be true or false or affordable, got 'often'."),
        ({"secrets": "ward"}, "secrets must be a list of columns, got the text 'ward'."),
        ({"known": [2024]}, "known must be a list of texts, got int in it; quote it."),
        ({"quasi_identifiers": "age"}, "quasi_identifiers must be a list of columns, got the text 'age'."),
        ({"sensitive": ["ward"]}, "sensitive columns are measured where quasi-identifiers are equal; name"),
        (
            {"quasi_identifiers": ["age", "ward"], "sensitive": ["ward"]},
            "column 'ward' is sensitive and a quasi-identifier; it can be one.",
        ),
        ({"missing": 3}, "missing must be a list of texts, got int."),
        ({"target": {"a": 1}}, "target must be a list of texts, got dict."),
        ({"auxiliary": ["age|sex"]}, "auxiliary must be pairs of lists of columns, such as [[age, sex]"),
        ({"auxiliary": [[["age"], "sex"]]}, "auxiliary must be pairs of lists of columns"),
        ({"auxiliary": [[["a"], ["b"], ["c"]]]}, "auxiliary must be pairs of lists of columns"),
        ({"metrics": []}, "metrics is empty"),
        ({"metrics": 3}, "metrics must be names or metric objects, got int."),
        ({"metrics": ["mdm"]}, "no metric 'mdm'. Did you mean 'mmd'?"),
        ({"metrics": [{"n_neighbors": [1]}]}, "metrics: what has parameters must also have a name."),
        ({"metrics": [{"name": "mmd", "width": 1}]}, "mmd: no setting 'width'."),
        ({"metrics": [{"name": "linkability", "n_neighbors": "x"}]}, "linkability: n_neighbors must be"),
        ({"metrics": [{"name": "linkability", "n_neighbors": [0]}]}, "Linkability: n_neighbors must be >= 1"),
        ({"policy": {"thresholds": {"inference": 7}}}, "policy: thresholds.inference: "),
        ({"policy": {"required": ["nonsense"]}}, "policy: no required metric 'nonsense'."),
        ({"policy": "absent.yaml"}, 'policy "absent.yaml": there is no such file.'),
        ({"attackers": [{"name": "x"}]}, "attackers: attackers.0: must say what the attacker wants"),
        ({"attackers": 3}, "attackers: "),
        ({"schema": {"columns": {"a": "number"}}}, "schema: columns.a.type: "),
        ({"schema": 3}, "schema: the top level must hold"),
    ],
)
def test_a_fault_in_a_file_is_one_line_with_its_key(folder, asked, message):
    write("audit.yaml", {**TABLES, **asked})
    with pytest.raises(TabveilError) as caught:
        AuditRequest.read("audit.yaml")
    assert str(caught.value).startswith(f'config "audit.yaml": {message}')
    assert "\n" not in str(caught.value)
    result = CliRunner().invoke(app, ["audit", "--config", "audit.yaml"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f'tabveil: config "audit.yaml": {message}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the top level must hold settings, such as 'train: train.csv'"),
        ("- a\n", "the top level must hold settings"),
        ("train: [\n", "not valid YAML"),
        ("train: !!python/object:os.system {}\n", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_request_is_told_from_one(folder, text, message):
    Path("audit.yaml").write_text(text)
    with pytest.raises(TabveilError, match=f'config "audit.yaml":.*{message}'):
        AuditRequest.read("audit.yaml")


@pytest.mark.parametrize(
    ("name", "message"), [("absent.yaml", "there is no such file"), ("audit.txt", "must end in .yaml")]
)
def test_a_file_that_cannot_be_read_is_named(folder, name, message):
    with pytest.raises(ParameterError, match=f'config "{name}": .*{message}'):
        AuditRequest.read(name)


def test_what_was_given_by_name_is_not_blamed_on_the_file(folder):
    write("audit.yaml", TABLES)
    with pytest.raises(ParameterError, match=r"^audit: seed must be >= 0"):
        AuditRequest.read("audit.yaml", seed=-1)
    with pytest.raises(ParameterError, match=r'^config "audit.yaml": synthetic is missing'):
        AuditRequest.read(write("audit.yaml", {"train": "t.csv"}), seed=-1)


def test_a_form_is_blamed_as_what_it_is():
    with pytest.raises(ParameterError, match=r"^config: quick must be true or false"):
        AuditRequest.read({**TABLES, "quick": "x"})
    with pytest.raises(SchemaError, match=r"^config: policy: recipient"):
        AuditRequest.read({**TABLES, "policy": {"recipient": 3}})


@pytest.mark.parametrize("missing", ["train", "synthetic"])
def test_the_command_line_asks_for_tables_by_its_own_names(folder, missing):
    others = [item for name in {*TABLES} - {missing} for item in (f"--{name}", TABLES[name])]
    result = CliRunner().invoke(app, ["audit", *others])
    assert result.exit_code == 2
    assert f"Missing option '--{missing}'" in result.stderr
    assert "--config" in result.stderr


def test_help_teaches_the_file(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = CliRunner().invoke(app, ["audit", "--help"]).stdout
    assert "--config" in text
    assert "tabveil audit --config audit.yaml" in text
    assert "tabveil config report.json --out audit.yaml" in CliRunner().invoke(app, ["config", "-h"]).stdout
    assert max(map(len, text.splitlines())) <= 80
