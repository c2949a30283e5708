"""The whole way from files to a page and an exit code, with one thing wrong each time."""

import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tabveil.cli import app
from tabveil.datasets import hospital

MARKUP = "<script>alert('x')</script>"
FORBIDDEN = re.compile(r"\b(anonymous|gdpr[ -]compliant|safe|safely|zero risk|risk-free)\b", re.IGNORECASE)
N = 1000


class Gate:
    """Three files, an audit with a policy, and what came out."""

    def __init__(self, folder):
        self.folder = folder
        # One clean release in some dozens raises a false alarm; the one drawn with these seeds does not.
        roles = ("train", "control", "synthetic")
        self.tables = {role: hospital(N, seed=seed) for seed, role in enumerate(roles, start=10)}
        self.policy = "recipient: research group\ncontext: shared once\n"

    def change(self, change):
        self.tables = {role: change(table) for role, table in self.tables.items()}

    def run(self, *more, without=(), quick=True):
        (self.folder / "policy.yaml").write_text(self.policy, encoding="utf-8")
        args = ["audit", "--policy", self.path("policy.yaml"), "--html", self.path("report.html")]
        args += ["--json", self.path("report.json"), "--no-power", "--force", *(["--quick"] if quick else [])]
        for role, table in self.tables.items():
            if role not in without:
                table.to_csv(self.folder / f"{role}.csv", index=False)
                args += [f"--{role}", self.path(f"{role}.csv")]
        self.result = CliRunner().invoke(app, [*args, *more])
        return self.result.exit_code

    def path(self, name):
        return str(self.folder / name)

    @property
    def page(self):
        return Path(self.path("report.html")).read_text(encoding="utf-8")

    @property
    def report(self):
        return json.loads(Path(self.path("report.json")).read_text(encoding="utf-8"))

    def check_page(self):
        """What holds for every page, whatever is on it."""
        page = self.page
        assert len(page.encode()) < 1_000_000
        state, sentence = self.report["verdict"]["state"], self.report["verdict"]["sentence"]
        assert f'<div class="verdict {state.split()[0]}">' in page
        assert sentence in html.unescape(page)
        assert not FORBIDDEN.search(re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL))
        assert "<script" not in page
        assert not re.search(
            r"\b(NaN|nan|None|inf)\b", re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL)
        )


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path)


def test_a_clean_release_of_few_rows_is_neither_within_nor_above(gate):
    assert gate.run() == 3, gate.result.output
    gate.check_page()
    assert re.search(
        r"About \d{1,2},\d00 control rows, and as many training rows, would be enough to decide",
        gate.report["verdict"]["sentence"],
    )


def test_a_clean_release_passes(gate):
    gate.tables = {role: hospital(5 * N, seed=seed) for seed, role in enumerate(gate.tables, start=10)}
    assert gate.run() == 0, gate.result.output
    gate.check_page()
    assert gate.report["verdict"]["state"] == "within threshold"
    assert "research group" in gate.page


def test_a_quarter_of_copies_does_not(gate):
    copies = gate.tables["train"].sample(N // 4, random_state=0)
    gate.tables["synthetic"] = pd.concat([copies, gate.tables["synthetic"].iloc[N // 4 :]])
    assert gate.run() == 1, gate.result.output
    gate.check_page()
    assert gate.report["verdict"]["state"] == "above threshold"


def test_without_control_nothing_is_concluded(gate):
    assert gate.run(without=["control"]) == 3, gate.result.output
    gate.check_page()
    assert "no control table" in gate.page


@pytest.mark.parametrize(
    ("policy", "named"),
    [("threshold: 0.1", "threshold"), ("thresholds: {inference: -1}", "inference"), ("required: [x]", "x")],
)
def test_a_wrong_policy_is_refused(gate, policy, named):
    gate.policy = policy
    assert gate.run() == 2
    assert "policy" in gate.result.stderr
    assert named in gate.result.stderr
    assert not Path(gate.path("report.html")).exists()


@pytest.mark.parametrize("value", ["0", "1.5", "nan", "much"])
def test_a_wrong_threshold_is_refused(gate, value):
    assert gate.run("--fail-above", value) == 2
    assert "--fail-above" in gate.result.stderr


def test_a_threshold_on_the_command_line_overrides_the_file(gate):
    gate.policy = "thresholds: {inference: 0.5}"
    gate.run("--fail-above", "0.02")
    assert set(gate.report["policy"]["thresholds"].values()) == {0.02}


def test_a_required_attack_that_was_not_run_is_missed(gate):
    assert gate.run("--metric", "mmd", "--metric", "inference") == 3, gate.result.output
    gate.check_page()
    assert "required by the policy, but not run" in gate.page


def test_hostile_names_and_values_stay_text(gate):
    def hostile(table):
        table = table.rename(columns={"ward": MARKUP, "region": "{{ 7 * 7 }}", "sex": '"><img src=x>'})
        table[MARKUP] = table[MARKUP].map(lambda value: f"<b>{value}</b>")
        return table

    gate.change(hostile)
    gate.policy = f'recipient: "{MARKUP}"'
    assert gate.run() in (0, 1, 3), gate.result.output
    gate.check_page()
    assert "<img" not in gate.page
    assert "&lt;script&gt;" in gate.page
    assert "{{ 7 * 7 }}" in gate.page


def test_one_row_each(gate):
    gate.change(lambda table: table.iloc[:1])
    assert gate.run() == 3, gate.result.output
    gate.check_page()


def test_three_hundred_columns(gate):
    def wide(table):
        rng = np.random.default_rng(len(table))
        numbers = {f"number {i}": rng.normal(size=len(table)) for i in range(150)}
        labels = {f"label {i}": rng.choice(list("abcd"), len(table)) for i in range(150)}
        return pd.DataFrame({**numbers, **labels})

    gate.change(lambda table: wide(table.iloc[:100]))
    # All three tables are the same rows: the control does not fit, and every row is a copy for all that.
    assert gate.run("--metric", "membership_distance", "--metric", "identical_match_share") == 1
    gate.check_page()


def test_nothing_but_constants_and_gaps(gate):
    gate.change(lambda table: pd.DataFrame({"one": 1, "none": np.nan, "word": "x"}, index=table.index))
    assert gate.run() == 3, gate.result.output
    gate.check_page()


def test_labels_the_other_tables_do_not_have(gate):
    gate.tables["synthetic"]["ward"] = "elsewhere"
    assert gate.run() in (0, 1, 3), gate.result.output
    gate.check_page()


def test_a_rare_value_is_shown_only_on_request(gate):
    for role in ("train", "synthetic"):
        gate.tables[role].loc[0, "region"] = "Smallholm"
    copies = gate.tables["train"].iloc[: N // 4]
    gate.tables["synthetic"] = pd.concat([copies, gate.tables["synthetic"].iloc[N // 4 :]])
    gate.run()
    assert "Smallholm" not in gate.page
    assert "Smallholm" not in json.dumps(gate.report)
    gate.run("--show-values")
    assert "This page shows values of real people" in gate.page
    assert gate.report["exposed"]["rows"]


def test_a_page_over_an_input_is_refused_before_the_work(gate):
    gate.run()
    before = (gate.folder / "train.csv").read_bytes()
    assert gate.run("--html", gate.path("train.csv")) == 2
    assert (gate.folder / "train.csv").read_bytes() == before


def test_a_page_that_cannot_be_written_is_refused(gate):
    assert gate.run("--html", gate.path("nowhere/report.html")) == 2
    assert "--html" in gate.result.stderr


def test_a_target_that_does_not_exist_is_named(gate):
    assert gate.run("--target", "diagnosys") == 2
    assert "diagnosis" in gate.result.stderr  # did you mean


def test_a_report_that_was_tampered_with_is_not_compared(gate):
    gate.run()
    broken = gate.report
    del broken["verdict"]
    (gate.folder / "broken.json").write_text(json.dumps(broken), encoding="utf-8")
    result = CliRunner().invoke(app, ["compare", gate.path("report.json"), gate.path("broken.json")])
    assert result.exit_code == 2
    assert "broken.json" in result.stderr


def test_releases_side_by_side(gate):
    gate.run()
    Path(gate.path("report.json")).rename(gate.path("clean.json"))
    gate.tables["synthetic"] = gate.tables["train"]
    assert gate.run() == 1
    reports = [gate.path("clean.json"), gate.path("report.json")]
    result = CliRunner().invoke(app, ["compare", *reports, "--html", gate.path("compare.html")])
    assert result.exit_code == 0, result.output
    page = Path(gate.path("compare.html")).read_text(encoding="utf-8")
    assert page.index("report</") < page.index("clean</")  # the larger concern first
    assert "above threshold" in page
    assert "within threshold" in page
    assert not FORBIDDEN.search(re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL))


def test_the_same_seed_gives_the_same_page(gate):
    pages = []
    for _ in range(2):
        gate.run()
        pages.append(re.sub(r"<dt>Time</dt><dd>.*?</dd>", "", gate.page))
    assert pages[0] == pages[1]
