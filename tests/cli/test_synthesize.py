"""Learning a table and drawing rows: the same form back, stored models, the command line, hostile inputs."""

import datetime as dt
import json
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from supplies.broken_inputs import BROKEN, SECRET
from supplies.terminal import run

from tabveil import datasets
from tabveil.auditing.audit import audit
from tabveil.cli import synthesize as commands
from tabveil.cli.exit_codes import Commands
from tabveil.core import workers
from tabveil.core.settings import values
from tabveil.engines.networks import INTERRUPTED, train
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS, Maker, Privacy, load_model
from tabveil.synthesis.generators.baselines import Marginals
from tabveil.workflows import synthesizing
from tabveil.workflows.synthesizing import TableModel, table_model
from tabveil.workflows.synthesizing import learning as choice

app = typer.Typer(cls=Commands, rich_markup_mode="rich", add_completion=False)
commands.register(app)

CSV = (
    "id;born;seen;flag;n;kg;city;constant;nothing\n"
    "001;1999-12-31;2024-03-01T12:30;TRUE;1;70,50;Bonn;7;\n"
    "002;2001-01-01;2024-03-02T08:05;FALSE;NA;81,25;Bonn;7;\n"
    '003;1985-06-15;2024-03-03T23:59;TRUE;3;;"a;b";7;\n'
)


def arrow_table():
    day, moment = dt.date(2024, 3, 1), dt.datetime(2024, 3, 1, 12, 30, tzinfo=dt.UTC)
    return pa.table(
        {
            "day": pa.array([day, None, dt.date(2020, 2, 29)], pa.date32()),
            "at": pa.array([moment, moment, None], pa.timestamp("ms", "Europe/Berlin")),
            "flag": pa.array([True, False, None], pa.bool_()),
            "tiny": pa.array([1, -3, None], pa.int8()),
            "count": pa.array([1, 2, 3], pa.uint32()),
            "ward": pa.array(["a", "b", None]).dictionary_encode(),
            "scale": pa.DictionaryArray.from_arrays(
                pa.array([0, 2, 0], pa.int8()), ["low", "mid", "high"], ordered=True
            ),
            "text": pa.array(["x", "x", "y"], pa.large_string()),
            "real": pa.array([0.5, None, 2.25], pa.float32()),
            "money": pa.array([1, 2, None], pa.int64()).cast(pa.decimal128(21, 2)),
            "nothing": pa.nulls(3),
            "gap": pa.array([None, None, None], pa.int16()),
            "constant": pa.array([7, 7, 7], pa.int64()),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    datasets.hospital(60, seed=1).to_csv("train.csv", index=False)
    return tmp_path


def here():
    return sorted(path.name for path in Path().iterdir())


def done(*args):
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result


def refused(*args, code=2):
    """Run a command that must fail with one line and leave nothing behind; return the line."""
    before = here()
    result = run(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert here() == before
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def synthesize(*args, generator="copy"):
    return ("synthesize", "--data", "train.csv", "--generator", generator, "--out", "out.csv", *args)


# The form of the rows


@pytest.mark.parametrize("generator", ["copy", "marginals"])
def test_csv_keeps_delimiter_dates_numbers_words_and_gaps(folder, generator):
    old_header, *old = CSV.splitlines()
    text = "".join(f"{line}\n" for line in (old_header, *old * 10))  # shared by ten rows, numbers stay
    Path("train.csv").write_text(text, encoding="cp1252")
    done(*synthesize("--rows", 400, "--rare-labels", "keep", generator=generator))
    header, *lines = Path("out.csv").read_text(encoding="cp1252").splitlines()
    assert header == old_header
    assert len(lines) == 400
    read = [pd.DataFrame([line.replace('"a;b"', "a,b").split(";") for line in part]) for part in (old, lines)]
    for name in read[0]:
        forms = [{re.sub(r"\d", "9", cell) for cell in part[name]} for part in read]
        assert forms[0] == forms[1], header.split(";")[name]
    if generator == "copy":
        assert set(lines) == set(old)


@pytest.mark.parametrize("generator", ["copy", "marginals"])
def test_parquet_keeps_every_type(folder, generator):
    table = arrow_table()
    pq.write_table(table, "train.parquet")
    read = pq.read_table("train.parquet")  # what the file format makes of the types
    done(
        "synthesize",
        "--data",
        "train.parquet",
        "--generator",
        generator,
        "--rows",
        300,
        "--rare-labels",
        "keep",
        "--out",
        "out.parquet",
    )
    back = pq.read_table("out.parquet")
    assert back.schema.equals(read.schema)
    for name in table.column_names:
        ours, theirs = (set(part.column(name).to_pylist()) for part in (read, back))
        assert (None in ours) == (None in theirs), name
        if generator == "copy" or name in {"flag", "ward", "scale", "text"}:  # numbers of one row are moved
            assert ours == theirs, name


def test_a_single_row(folder):
    Path("train.csv").write_text(CSV.split("002", maxsplit=1)[0], encoding="utf-8")
    for generator in ("copy", "marginals"):
        done(*synthesize("--force", "--rare-labels", "keep", generator=generator))
        assert Path("out.csv").read_text() == Path("train.csv").read_text()


def test_as_many_rows_as_the_data_by_default(folder):
    done(*synthesize())
    assert len(pd.read_csv("out.csv")) == 60


def test_other_kinds_of_files(folder):
    done("synthesize", "--data", "train.csv", "--generator", "copy", "--rows", 5, "--out", "out.feather")
    assert pa.ipc.open_file("out.feather").read_all().column("admitted").type == pa.date32()
    done("synthesize", "--data", "out.feather", "--generator", "copy", "--out", "back.csv.gz")
    assert len(pd.read_csv("back.csv.gz")) == 5


@pytest.mark.parametrize("library", [pd, pl])
def test_dataframes_come_back_as_dataframes(library):
    people = datasets.hospital(80, seed=1)
    data = people if library is pd else pl.from_pandas(people)
    rows = synthesizing.synthesize(data, generator="marginals", rows=200)
    assert type(rows) is type(data)
    assert len(rows) == 200
    assert list(rows.columns) == list(data.columns)
    assert list(rows.dtypes) == list(data.dtypes)


def test_arrow_comes_back_as_arrow():
    rows = synthesizing.synthesize(arrow_table(), generator="copy")
    assert rows.schema.equals(arrow_table().schema)


# Labels that nobody holds


def rare():
    names = [f"Rare Person {i}" for i in range(200)]
    return pd.DataFrame(
        {"name": pd.Categorical(names), "grade": pd.Categorical([1] * 200, [1, 2], ordered=True)}
    )


def test_labels_that_no_row_holds_are_not_listed(folder):
    rare().to_parquet("rare.parquet")
    given = ("--generator", "copy", "--rows", 5, "--identifiers", "learn", "--out", "out.parquet")
    done("synthesize", "--data", "rare.parquet", *given)
    column = pq.read_table("out.parquet").column("name").combine_chunks()
    assert pa.types.is_dictionary(column.type)
    assert set(column.dictionary.to_pylist()) == set(column.to_pylist())
    assert sum(f"Rare Person {i}".encode() in Path("out.parquet").read_bytes() for i in range(200)) <= 9
    rows = synthesizing.synthesize(rare(), generator="copy", rows=5, identifiers="learn")
    assert set(rows["name"].cat.categories) == set(rows["name"])
    assert rows["grade"].dtype == rare()["grade"].dtype  # a scale stays whole
    enum = pl.DataFrame({"e": pl.Series(["a", "a"], dtype=pl.Enum(["z", "a"]))})
    assert synthesizing.synthesize(enum, generator="copy")["e"].dtype == pl.Enum(["z", "a"])


def test_declared_labels_are_listed_all(folder):
    data = pd.DataFrame({"ward": pd.Categorical(["a"] * 5)})
    schema = {"columns": {"ward": {"type": "category", "labels": ["b", "a"]}}}
    rows = synthesizing.synthesize(pa.Table.from_pandas(data), generator="copy", schema=schema)
    assert rows.column("ward").combine_chunks().dictionary.to_pylist() == ["b", "a"]


# Stored models


@pytest.mark.parametrize("generator", ["copy", "marginals"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_stored_model_draws_the_same_rows(folder, generator, ending):
    Path("data.csv").write_text(CSV, encoding="utf-8")
    pq.write_table(arrow_table(), "data.parquet")
    given = ("--rows", 50, "--seed", 3)
    done("synthesize", "--data", f"data.{ending}", "--generator", generator, *given, "--save", "model",
         "--out", f"first.{ending}")  # fmt: skip
    done("sample", "model", *given, "--out", f"second.{ending}")
    assert Path(f"first.{ending}").read_bytes() == Path(f"second.{ending}").read_bytes()
    done("sample", "model", "--rows", 50, "--seed", 4, "--out", f"third.{ending}")
    assert Path(f"first.{ending}").read_bytes() != Path(f"third.{ending}").read_bytes()
    assert {path.name for path in Path("model").iterdir()} == {"model.json", "arrays.npz", "layout.json"}
    assert load_model("model").made_by.name == generator
    assert not list(Path().glob(".*"))


def test_python_and_the_command_line_draw_the_same(folder):
    done(*synthesize("--seed", 5, "--rows", 30))
    rows = synthesizing.synthesize("train.csv", generator="copy", seed=5, rows=30, save="model")
    assert rows.equals(synthesizing.sample("model", 30, seed=5))
    again = synthesizing.learn("out.csv", generator="marginals").draw(1)
    assert rows.schema.equals(again.native().schema)
    TableModel.load("model").draw(30, seed=5).write("again.csv")
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


def test_a_seed_matters(folder):
    texts = []
    for seed in (0, 0, 1):
        done(*synthesize("--seed", seed, "--force", generator="marginals"))
        texts.append(Path("out.csv").read_text())
    assert texts[0] == texts[1] != texts[2]


def test_declared_columns_are_remembered(folder):
    schema = {"columns": {"a": {"type": "integer", "low": 0, "high": 9}, "b": "integer"}}
    learned = synthesizing.learn(pd.DataFrame({"a": [1], "b": [2]}), generator="copy", schema=schema)
    learned.save("model")
    assert learned.declared == TableModel.load("model").declared == {"a"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("layout.json", None, "without the form of its data"),
        ("layout.json", "{", "layout.json cannot be read"),
        ("layout.json", "[]", "fit the model again"),
        ("layout.json", b"\xff\xfe\x00", "layout.json cannot be read"),
        ("model.json", None, "there is no model"),
        ("model.json", "{}", "cannot be read"),
        ("arrays.npz", "junk", "cannot be read"),
    ],
)
def test_a_damaged_folder_is_refused(folder, name, text, words):
    done(*synthesize("--save", "model"))
    place = Path("model", name)
    place.unlink()
    if text is not None:
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
    line = refused("sample", "model", "--rows", 3, "--out", "more.csv")
    assert words in line
    assert "model" in line


def test_a_layout_of_another_model_is_refused(folder):
    done(*synthesize("--save", "model"))
    place = Path("model/layout.json")
    about = json.loads(place.read_text())
    about["columns"][1]["kind"] = "number"
    place.write_text(json.dumps(about), encoding="utf-8")
    assert "belongs to another model" in refused("sample", "model", "--rows", 3, "--out", "more.csv")


def test_a_model_is_stored_whole_or_not_at_all(folder, monkeypatch):
    learned = synthesizing.learn("train.csv", generator="copy")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(table_model, "write_text", fail)
    with pytest.raises(OSError, match="No space"):
        learned.save("model")
    assert here() == ["train.csv"]


# The command line


def test_what_is_said_afterwards(folder):
    Path("control.csv").write_text(Path("train.csv").read_text(), encoding="utf-8")
    result = done(*synthesize("--save", "model", "--missing", "?", generator="marginals"))
    assert "out.csv: 60 rows by marginals, learned from 60." in result.stdout
    assert "guard it like the data" in result.stdout
    command = result.stdout.splitlines()[-1]
    words = "tabveil audit --train train.csv --control control.csv --synthetic out.csv --missing '?'"
    assert command.strip() == words
    assert shlex.split(command)[-1] == "?"


def test_notes_are_said_on_standard_error(folder):
    pd.DataFrame({"id": range(100, 160), "answer": ["?"] * 30 + ["yes"] * 30}).to_csv(
        "train.csv", index=False
    )
    result = done(*synthesize())
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert any("fresh ones of the same form in id." in line for line in lines)
    assert any('--missing "?"' in line for line in lines)


def test_without_control_it_is_said_that_nothing_is_known(folder):
    result = done(*synthesize(generator="marginals"))
    assert "Not audited: whether these rows are within any policy is not known." in result.stdout


@pytest.fixture
def people(folder):
    """Enough people to learn from and to hold back."""
    for name, seed in (("train.csv", 1), ("control.csv", 2)):
        datasets.hospital(400, seed=seed).to_csv(name, index=False)


def test_rows_are_audited_before_they_are_written(people):
    given = ("--control", "control.csv", "--seed", 3)
    result = done(*synthesize(*given, generator="copy"))
    sentence = audit("train.csv", "out.csv", "control.csv").verdict.sentence
    assert sentence.startswith("Above threshold")
    assert f"WARNING: {sentence}" in result.stderr.splitlines()
    assert "tabveil audit" not in result.stdout
    assert here() == ["control.csv", "out.csv", "train.csv"]


def test_a_verdict_that_is_not_above_is_said_without_a_warning(people):
    result = done(*synthesize("--control", "control.csv", generator="marginals"))
    verdict = audit("train.csv", "out.csv", "control.csv").verdict
    assert verdict.state != "above threshold"
    assert verdict.sentence in result.stdout
    assert "WARNING" not in result.stderr


def test_a_policy_decides_the_exit_code_and_the_rows_are_written_all_the_same(people):
    Path("policy.yaml").write_text("recipient: nobody", encoding="utf-8")
    result = run(*synthesize("--control", "control.csv", "--policy", "policy.yaml"))
    assert result.exit_code == 1
    assert len(pd.read_csv("out.csv")) == 400


def test_an_audit_that_fails_leaves_nothing_behind(people):
    Path("control.csv").write_text("other\n1\n", encoding="utf-8")
    before = here()
    assert run(*synthesize("--control", "control.csv")).exit_code == 2
    assert here() == before


def test_help_lists_the_generators_and_their_settings(folder):
    text = done("synthesize", "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    plain = " ".join(text.split())
    for name, kind in GENERATORS.items():
        assert f"{name}: {kind.__doc__.splitlines()[0]}" in plain
    assert "noise=0.0" in plain
    assert "tabveil synthesize --data" in plain
    assert "tabveil sample model --" in done("sample", "--help").stdout


def test_help_does_not_wait_for_pandas():
    code = (
        "import sys\nimport typer\nfrom tabveil.cli import synthesize\napp = typer.Typer()\n"
        "synthesize.register(app)\ntry:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(sum(name in sys.modules for name in ('pandas', 'numba', 'numpy', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--set", "noise"], "--set must look like key=value, got 'noise'."),
        (["--set", "=3"], "--set must look like key=value"),
        (["--set", "noise=1", "--set", "noise=0"], "--set: noise is given twice"),
        (["--set", "noise=much"], "copy: noise must be a number, got 'much'."),
        (["--set", "noise=nan"], "copy: noise must be a number"),
        (["--set", "noise=2"], "copy: noise must lie from 0 to 1, got 2.0."),
        (["--set", "nois=1"], "copy: no setting 'nois'. Did you mean 'noise'?"),
        (["--set", "size=1"], "copy: no setting 'size'. Known: noise."),
        (["--generator", "marginals", "--set", "size=1"], "marginals: there are no settings, got 'size'."),
        (["--generator", "margnals"], "Did you mean 'marginals'?"),
        (["--rows", "0"], "--rows"),
        (["--rows", "99999999999999999999"], "rows must be <= 1,000,000,000"),
        (["--seed", "-1"], "--seed"),
        (["--threads", "0"], "--threads"),
        (["--data", "nowhere.csv"], "there is no file nowhere.csv"),
        (["--data", "."], "folder"),
        (["--out", "out.docx"], "cannot tell what kind of file"),
        (["--out", "nowhere/out.csv"], "there is no folder nowhere"),
        (["--out", "train.csv", "--force"], "also used for something else"),
        (["--out", "schema.yaml", "--schema", "schema.yaml"], "cannot tell what kind"),
        (["--save", "here"], "here is already there"),
        (["--save", "here/../out.csv"], "also used for something else"),
        (["--save", "train.csv"], "already there"),
        (["--save", "train.csv/model"], "--save"),
        (["--schema", "nowhere.yaml"], "there is no such file"),
        (["--control", "nowhere.csv"], "--control: there is no file nowhere.csv"),
        (["--control", "train.csv", "--policy", "nowhere.yaml"], "nowhere.yaml"),
        (["--policy", "policy.yaml"], "--policy: needs --control"),
        (["--out", "control.csv", "--control", "control.csv", "--force"], "also used for something else"),
        (["--rare-labels", "drop"], "rare_labels must be one of 'pool', 'keep'; got 'drop'"),
    ],
)
def test_what_is_refused(folder, args, words):
    Path("here").mkdir()
    Path("control.csv").write_text(Path("train.csv").read_text(), encoding="utf-8")
    assert words in refused(*synthesize(), *args)


def test_an_output_is_replaced_only_if_that_is_wanted(folder):
    Path("out.csv").write_text("precious", encoding="utf-8")
    assert "add --force" in refused(*synthesize())
    assert Path("out.csv").read_text() == "precious"
    done(*synthesize("--save", "model", "--force"))
    precious = Path("out.csv").read_text()
    assert "add --force" in refused("sample", "model", "--rows", 3, "--out", "out.csv")
    assert "model's folder" in refused("sample", "model", "--rows", 3, "--out", "model/out.csv")
    assert "no model" in refused("sample", "nowhere", "--rows", 3, "--out", "more.csv")
    assert Path("out.csv").read_text() == precious


def test_a_failing_write_leaves_the_old_file(folder, monkeypatch):
    Path("out.csv").write_text("precious", encoding="utf-8")

    def fail(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    result = run(*synthesize("--force"))
    assert result.exit_code == 2
    assert "No space left" in result.stderr
    assert Path("out.csv").read_text() == "precious"
    assert here() == ["out.csv", "train.csv"]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_broken_inputs(folder, case):
    """Whatever the files: rows, or exit code 2 and one line without anybody's value."""
    given = case.arguments(folder)
    schema = ("--schema", given["schema"]) if isinstance(given.get("schema"), Path) else ()
    for role in ("train", "synthetic"):
        if isinstance(given[role], (str, Path)):
            out = f"{role}-out.parquet"
            result = run(
                "synthesize", "--data", given[role], *schema, "--generator", "marginals", "--out", out
            )
            assert SECRET not in result.output
            assert result.exit_code in {0, 2}, result.output
            assert Path(out).exists() is (result.exit_code == 0)
            if result.exit_code == 2:
                assert (result.stdout, len(result.stderr.splitlines())) == ("", 1)


# Settings by their type


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("3", int, 3),
        (np.int64(3), int, 3),
        ("-2.5e3", float, -2500.0),
        (1, float, 1.0),
        ("True", bool, True),
        ("no", bool, False),
        (False, bool, False),
        ("none", int | None, None),
        (None, int | None, None),
        ("4", int | None, 4),
        ("none", str | None, None),
        ("none", str, "none"),
        ("a, b", tuple[str, ...], ("a", "b")),
        (["a", "b,c"], tuple[str, ...], ("a", "b,c")),
        ("1,2", tuple[int, ...], (1, 2)),
        ("", tuple[int, ...], ()),
        ("none", tuple[str, ...] | None, None),
        ("a,b|c", tuple[tuple[str, ...], ...], (("a", "b"), ("c",))),
        ("cuda", Literal["cpu", "cuda"], "cuda"),
        ("0", Literal[0, 1], 0),
        ("3", int | Literal["auto"], 3),
        ("auto", int | Literal["auto"], "auto"),
        ("x", Any, "x"),
        ({"x": 1}, dict[str, int], {"x": 1}),
    ],
)
def test_settings_are_read_by_their_type(text, hint, value):
    found = values.read("g", "key", text, hint)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "hint", "expected"),
    [
        ("3.5", int, "a whole number"),
        (True, int, "a whole number"),
        (3.0, int, "a whole number"),
        ("inf", float, "a number"),
        (True, float, "a number"),
        ("1", bool, "true or false"),
        ("x", int | None, "a whole number or none"),
        ("gpu", Literal["cpu", "cuda"], "one of cpu, cuda"),
        ("1,x", tuple[int, ...], "whole numbers such as 1,2"),
        (3, tuple[str, ...], "a list such as a,b"),
        (3, tuple[tuple[str, ...], ...], "groups such as a,b|c,d"),
        (3, str, "text"),
        (None, str, "text"),
        ("x", dict[str, int], "an object, made in Python"),
    ],
)
def test_settings_of_another_type_are_refused(text, hint, expected):
    with pytest.raises(ParameterError) as caught:
        values.read("g", "key", text, hint)
    assert str(caught.value) == f"g: key must be {expected}, got {text!r}."


@pytest.mark.parametrize("kind", GENERATORS.values(), ids=list(GENERATORS))
def test_every_setting_of_every_generator_can_be_typed(kind):
    made = kind()
    for name, setting in choice.settings_for_users(kind).items():
        default = getattr(made, name, setting.default)  # a preset is no field
        assert setting.default == default
        assert values.read(kind.name, name, default, setting.hint) == default, name


# Generators that promise something, train for long, or need what is not there


@dataclass(frozen=True, kw_only=True)
class Private(Maker):
    """Promise privacy."""

    epsilon: float = 1.0
    public: tuple[str, ...] = ()

    name: ClassVar[str] = "private"
    model: ClassVar = Marginals.model

    def fit(self, table, *, rng):
        fitted = Marginals().fit(table, rng=rng)
        counts = tuple(rng.integers(1, 1000, len(item)) for item in fitted.counts)
        privacy = self.promise(table.schema)
        return type(fitted)(**{**vars(fitted), "counts": counts, "made_by": self, "privacy": privacy})

    def promise(self, schema):
        return Privacy(
            mechanism="noise",
            epsilon=self.epsilon,
            delta=1e-9,
            accountant="none",
            adjacency="Neighbors differ by one row.",
            public=self.public,
            read_from_data={name: ("form",) for name in schema.names if name not in self.public},
        )


class Weights:
    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        self.loaded = state


@dataclass(frozen=True, kw_only=True)
class Interrupted(Maker):
    """Be interrupted in training."""

    epochs: int = 5
    at: int = 2

    name: ClassVar[str] = "interrupted"
    model: ClassVar = Marginals.model

    def fit(self, table, *, rng):
        def epoch(i):
            if i == self.at:
                signal.raise_signal(signal.SIGINT)
            return 1.0, 1.0 / (i + 1)

        trained = train(Weights(), epoch, epochs=self.epochs)
        with workers.part(1.0, 1.0):
            fitted = Marginals().fit(table, rng=rng)
        return type(fitted)(
            **{**vars(fitted), "made_by": self, "notes": trained.notes, "history": trained.history}
        )


@dataclass(frozen=True, kw_only=True)
class Absent(Maker):
    """Need a library that is not installed."""

    module: str = "torch"

    name: ClassVar[str] = "absent"
    model: ClassVar = Marginals.model

    def fit(self, table, *, rng):
        raise ModuleNotFoundError(name=f"{self.module}.nn")


@pytest.fixture
def more_generators():
    with ExitStack() as stack:
        for kind in (Private, Interrupted, Absent, Frank):
            stack.enter_context(GENERATORS.adding(kind))
        yield


def test_a_promise_is_stated_and_what_it_does_not_cover_is_said_loudly(folder, more_generators):
    Path("schema.yaml").write_text("columns: {age: {type: integer, low: 0, high: 120}}", encoding="utf-8")
    given = ("--schema", "schema.yaml", "--set", "epsilon=2", "--save", "model")
    lines = done(*synthesize(*given, generator="private")).stderr.splitlines()
    assert lines[0].startswith("Differential privacy: ε = 2, δ = 1e-09")
    assert lines[0].endswith(" noise. Neighbors differ by one row. Accountant: none.")
    assert lines[1].startswith("ε = 2 is for a row of the table that was learned from. For a person with")
    assert lines[2].startswith(
        "WARNING: the promise of ε = 2 does not cover what was read from the data of 15 of"
    )
    assert ": sex (form), region (form)," in lines[2]
    assert " age" not in lines[2]
    assert lines[3].startswith("WARNING: as many rows are written as were learned from")
    assert len(lines) == 4
    assert load_model("model").privacy.public == ("age",)
    again = done("sample", "model", "--rows", 3, "--out", "more.csv")
    assert again.stderr.splitlines() == lines[:3]


VISITS = "patient;age\n" + "".join(f"P{number % 4};{30 + number % 9}\n" for number in range(14))
OWNED = "person: patient\ncolumns: {age: {type: integer, low: 0, high: 120}}\ncsv: {delimiter: ';'}\n"


def for_people(result):
    (line,) = [line for line in result.stderr.splitlines() if "is for a row of the table" in line]
    return line


@pytest.mark.parametrize("generator", ["private", "aim"])
def test_a_promise_is_stated_for_people_too(generator, folder, more_generators):
    Path("train.csv").write_text(VISITS, encoding="utf-8")
    Path("schema.yaml").write_text(OWNED, encoding="utf-8")
    given = ("--schema", "schema.yaml", "--set", "epsilon=2", "--rows", 5, "--save", "model")
    line = for_people(done(*synthesize(*given, generator=generator)))
    assert line.startswith(
        "WARNING: ε = 2 is for a row of the table that was learned from. A person (patient)"
    )
    assert "has up to 4 rows there: for a person ε = 8 and δ = " in line
    assert "read from the rows, which the promise does not cover: bound it with deduplicate" in line
    again = for_people(done("sample", "model", "--rows", 3, "--out", "more.csv"))
    assert "For a person (patient) with several rows there it is as many times larger." in again
    assert "4 rows" not in Path("model/layout.json").read_text(encoding="utf-8") + again


def test_a_declared_bound_says_what_people_are_promised(folder, more_generators):
    Path("train.csv").write_text(VISITS, encoding="utf-8")
    Path("schema.yaml").write_text(OWNED, encoding="utf-8")
    Path("p.yaml").write_text(
        "generator: private\nsettings: {epsilon: 0.5}\nrows: 5\nschema: schema.yaml\n"
        "deduplicate: {person: patient, most: 3}\n",
        encoding="utf-8",
    )
    done("synthesize", "--data", "train.csv", "--config", "p.yaml", "--save", "model", "--out", "out.csv")
    said = for_people(done("sample", "model", "--rows", 3, "--out", "more.csv"))
    assert said == (
        "ε = 0.5 is for a row of the table that was learned from, after deduplicate. A person (patient) has "
        "at most 3 rows there: for a person ε = 1.5 and δ = 5.4e-09."
    )


def test_a_seed_that_was_given_is_warned_of_where_something_is_promised(folder, more_generators):
    given = ("--rows", 5, "--seed", 7)
    assert "WARNING: the seed was given" in done(*synthesize(*given, generator="private")).stderr
    Path("out.csv").unlink()
    assert "the seed was given" not in done(*synthesize(*given, generator="marginals")).stderr


def test_nothing_is_said_loudly_where_everything_is_declared(folder, more_generators):
    Path("train.csv").write_text("age\n30\n40\n", encoding="utf-8")
    Path("schema.yaml").write_text("columns: {age: {type: integer, low: 0, high: 120}}", encoding="utf-8")
    result = done(*synthesize("--schema", "schema.yaml", "--rows", 5, generator="private"))
    assert "WARNING" not in result.stderr


def test_a_private_generator_takes_a_secret_seed_unless_one_is_given(folder, more_generators):
    """Noise from a seed that everybody knows hides nothing."""
    data = datasets.hospital(30, seed=1)
    free = [synthesizing.learn(data, generator="private").model.counts[0] for _ in range(2)]
    given = [synthesizing.learn(data, generator="private", seed=0).model.counts[0] for _ in range(2)]
    assert not np.array_equal(*free)
    assert np.array_equal(*given)
    done(*synthesize("--save", "model", generator="private"))
    done("sample", "model", "--rows", 60, "--out", "again.csv")
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


@dataclass(frozen=True, kw_only=True)
class Frank(Private):
    """Warn about itself."""

    name: ClassVar[str] = "frank"

    def fit(self, table, *, rng):
        fitted = super().fit(table, rng=rng)
        return type(fitted)(**{**vars(fitted), "notes": ("WARNING: I read everything.",)})


def test_what_is_not_covered_is_said_whatever_a_model_notes(folder, more_generators):
    lines = done(*synthesize("--rows", 5, "--save", "model", generator="frank")).stderr.splitlines()
    warnings = [line for line in lines if "WARNING" in line]
    assert warnings[0].startswith("WARNING: the promise of ε = 1 does not cover")
    assert warnings[1:] == ["WARNING: I read everything."]
    again = done("sample", "model", "--rows", 3, "--out", "more.csv").stderr.splitlines()
    assert again == [*lines[:3], "The model says: WARNING: I read everything."]


def test_what_is_public_is_the_schemas_to_say(folder, more_generators):
    line = refused(*synthesize("--set", "public=age", generator="private"))
    assert "the schema says what is public" in line
    assert choice.with_public(Private(public=("a",)), ["b", "a"]).public == ("b", "a")
    with pytest.raises(ParameterError, match="does not declare all of 'a'"):
        choice.with_public(Private(public=("a",)), ["b"])
    with pytest.raises(ParameterError, match="does not declare all of 'age'"):
        synthesizing.learn("train.csv", generator=Private(public=("age",)))
    assert choice.with_public(Marginals(), ["b"]) == Marginals()


def test_ctrl_c_in_training_keeps_the_best_model_and_draws(folder, ctrl_c_is_heard, more_generators):
    result = done(*synthesize("--save", "model", "--rare-labels", "keep", generator="interrupted"))
    assert result.stderr.splitlines() == [INTERRUPTED, "Drawing rows from that model; Ctrl-C again ends."]
    assert len(pd.read_csv("out.csv")) == 60
    assert len(load_model("model").history) == 2
    again = done("sample", "model", "--rows", 3, "--out", "more.csv").stderr.splitlines()
    assert again == [f"The model says: {INTERRUPTED}"]


def test_ctrl_c_before_there_is_a_model_ends(folder, ctrl_c_is_heard, more_generators):
    assert run(*synthesize("--set", "at=0", generator="interrupted")).exit_code == 130
    assert here() == ["train.csv"]


def test_ctrl_c_while_drawing_ends_and_the_model_is_kept(
    folder, ctrl_c_is_heard, more_generators, monkeypatch
):
    monkeypatch.setattr(Marginals.model, "draw", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    assert run(*synthesize("--save", "model", generator="interrupted")).exit_code == 130
    assert not Path("out.csv").exists()
    assert load_model("model").history


def test_a_library_that_is_not_installed_is_named(folder, more_generators):
    line = refused(*synthesize(generator="absent"))
    assert "absent: torch.nn is not installed; install tabveil[deep]" in line
    assert run(*synthesize("--set", "module=tabveil", generator="absent")).exit_code == 70


def test_progress_is_told():
    heard = []
    synthesizing.synthesize(
        datasets.hospital(30, seed=1),
        generator=Interrupted(epochs=3, at=9),
        progress=lambda doing, share: heard.append((doing, share)),
    )
    assert heard[0] == ("reading the table", 0.0)
    assert [share for _, share in heard] == sorted(share for _, share in heard)
    assert heard[-1][1] == 1.0


# Python


def test_a_synthesizer_object_brings_its_own_settings():
    data = pd.DataFrame({"a": [1, 2, 3]})
    assert len(synthesizing.synthesize(data, generator=Marginals(), rows=4)) == 4
    with pytest.raises(ParameterError, match="settings belong to a generator's name"):
        synthesizing.synthesize(data, generator=Marginals(), settings={"noise": 1})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rows": 2.5}, "rows must be a whole number, got float"),
        ({"rows": 0}, "rows must be >= 1, got 0"),
        ({"seed": "x"}, "seed must be a whole number, got str"),
        ({"seed": -1}, "seed must be >= 0"),
        ({"save": "."}, "already there"),
        ({"settings": {"noise": "x"}}, "noise must be a number"),
        ({"threads": 0}, "threads must be >= 1"),
    ],
)
def test_what_python_refuses(given, words):
    with pytest.raises(ParameterError, match=words):
        synthesizing.synthesize(pd.DataFrame({"a": [1]}), **{"generator": "copy", **given})


def test_data_without_rows():
    with pytest.raises(ParameterError, match="needs at least 1 row"):
        synthesizing.synthesize(pd.DataFrame({"a": pd.Series([], dtype="int64")}), generator="copy")
