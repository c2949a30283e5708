"""A row that does not take part, or is suppressed, changes no byte of what a promising pipeline lets leave.

Its promise rests on sampling: a row that is not sampled must not be read past the sample, neither for how
values are written nor for which columns name people. The same holds for noise on the way back.
"""

import numpy as np
import pandas as pd
import pytest

from tabveil.synthesis.generators.hybrid.promises import Sampling
from tabveil.workflows.synthesizing import TableModel, learn

DECLARED = {
    "age": {"type": "integer", "low": 0, "high": 120},
    "born": {"type": "date", "low": "2000-01-01", "high": "2019-12-31"},
    "paid": {"type": "date", "low": "2000-01-01", "high": "2019-12-31", "form": "MM/DD/YYYY"},
    "ward": {"type": "category", "labels": ["north", "south", "east"]},
    "smoker": {"type": "boolean"},
    "case": {"type": "identifier", "form": "AB-0000"},
}
ROW = {
    "age": "40",
    "born": "2010-05-17",
    "paid": "03/04/2010",
    "ward": "north",
    "smoker": "true",
    "case": "AB-1234",
}
HIERARCHIES = {
    "age": {"intervals": [10]},
    "born": {"dates": ["year"]},
    "paid": {"dates": ["year"]},
    "ward": {"tree": {"town": ["north", "south"], "land": ["east"]}},
    "smoker": {"tree": {"anybody": ["False", "True"]}},
}
SETTINGS = {
    "hierarchies": HIERARCHIES,
    "levels": {"age": 1, "born": 1, "paid": 1, "ward": 1, "smoker": 1},
    "models": [{"k": 5}],
    "sampling": {"beta": 0.2, "when": "before"},
    "generator": "marginals",
}
WAYS = {
    "uniform before": {},
    "uniform after": {"placement": "post"},
    "leaves": {"transition": {"name": "single", "labels": "leaf"}},
    "nothing generated": {"generator": "none"},
    "noise": {"transition": "noisy_conditional", "placement": "post"},
}
N_ROWS = 30
READ_ALIKE = [
    *(("age", cell) for cell in ("NA", "", "40.0", "4e1", "+40")),
    *(("born", cell) for cell in ("2010-05-17T00:00", "2010-05-17 00:00:00", "null")),
    *(("paid", cell) for cell in ("12/31/2010", "3/4/2010", "2010-03-04", "")),
    *(("ward", cell) for cell in ('"north"', "")),
    *(("smoker", cell) for cell in ("TRUE", "1", "")),
    *(("case", cell) for cell in ("AB-9999", "", "17", "2024-03-01", "Maria López")),
]
"""Cells that read like the usual one, or are missing: only how they are written differs."""


def taking_part(monkeypatch, n_rows):
    """Let the first so many rows be the sample, and no others."""
    monkeypatch.setattr(Sampling, "draw", lambda *_, **__: np.arange(n_rows))


def table(path, *more, encoding="utf-8"):
    """Write equal rows, and more rows that differ from them in the cells given."""
    rows = [ROW] * N_ROWS + [{**ROW, **cells} for cells in more]
    lines = [",".join(ROW), *(",".join(row.values()) for row in rows)]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode(encoding))
    return path


def released(data, folder, way, *, schema=None, **rest):
    """Learn a table, and return every byte that leaves: of the model's files and of rows."""
    folder.mkdir()
    learned = learn(
        data,
        generator="hybrid",
        settings={**SETTINGS, **WAYS[way], **rest},
        seed=3,
        schema={"columns": schema or DECLARED},
    )
    learned.save(folder / "model")
    for rows, name in (
        (learned.draw(40, seed=1), "fresh"),
        (TableModel.load(folder / "model").draw(40), "again"),
    ):
        rows.write(folder / f"{name}.csv")
        rows.write(folder / f"{name}.parquet")
    files = [path for path in folder.rglob("*") if path.is_file()]
    return learned, {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("way", WAYS)
def test_a_row_that_is_not_sampled_changes_no_byte(way, tmp_path, monkeypatch):
    taking_part(monkeypatch, N_ROWS)
    learned, without = released(table(tmp_path / "data.csv"), tmp_path / "out", way)
    assert (learned.model.promises.sampled is None) == (way == "noise")
    assert {"fresh.csv", "model/model.json", "model/layout.json"} <= set(without)
    rows = [{column: cell} for column, cell in READ_ALIKE]
    for number, more in enumerate([*([row] for row in rows), rows]):
        encoding = "cp1252" if len(more) > 1 else "utf-8"
        data = table(tmp_path / f"{number}.csv", *more, encoding=encoding)
        assert released(data, tmp_path / str(number), way)[1] == without, more


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cells", [{"age": "80"}, {"age": ""}, {"born": ""}, {"ward": ""}, {"ward": "east"}])
def test_a_row_that_is_suppressed_changes_no_byte(way, cells, tmp_path, monkeypatch):
    """It is the only one of its class, so it is generalized like the others and left out."""
    taking_part(monkeypatch, N_ROWS)
    without = released(table(tmp_path / "b.csv"), tmp_path / "b", way)[1]
    taking_part(monkeypatch, N_ROWS + 1)
    assert released(table(tmp_path / "c.csv", cells), tmp_path / "c", way)[1] == without


@pytest.mark.parametrize("way", WAYS)
def test_one_missing_value_among_all_others_is_never_drawn(way, tmp_path, monkeypatch):
    """Where a column is generalized to one value, rows must not tell that missing is a part of it."""
    taking_part(monkeypatch, N_ROWS + 1)
    learned, _ = released(table(tmp_path / "data.csv", {"smoker": ""}), tmp_path / "out", way)
    assert not np.isnan(learned.draw(2000).table.column("smoker")).any()


def test_dates_in_a_hierarchy_of_a_file_do_not_depend_on_who_has_them(tmp_path, monkeypatch):
    days = pd.date_range("2010-05-01", "2010-05-31").strftime("%Y-%m-%d")
    (tmp_path / "days.csv").write_text("".join(f"{day};May;*\n" for day in days))
    born = {"type": "date", "low": "2010-05-01", "high": "2010-05-31"}
    taking_part(monkeypatch, N_ROWS)
    learned, _ = released(
        table(tmp_path / "data.csv"),
        tmp_path / "out",
        "uniform after",
        schema={**DECLARED, "born": born},
        hierarchies={**HIERARCHIES, "born": {"file": str(tmp_path / "days.csv")}},
    )
    assert learned.model.promises.sampled is not None
    drawn = learned.draw(2000).table.column("born")
    assert len(np.unique(drawn)) > 20  # all rows have the seventeenth


def test_declared_columns_name_nobody_and_identifiers_follow_from_the_schema(tmp_path, monkeypatch):
    """Whether a column looks like identifiers, and how these look, is read from rows that take no part."""
    labels = [f"w{i:03}" for i in range(300)]
    declared = {**DECLARED, "ward": {"type": "category", "labels": ["north", *labels]}}
    asked = {**HIERARCHIES, "ward": {"tree": {"town": ["north"]}, "others": "elsewhere"}}
    more = [{"ward": label, "case": f"X{label}"} for label in labels]
    taking_part(monkeypatch, N_ROWS)
    files = [
        released(data, tmp_path / name, "uniform before", schema=declared, hierarchies=asked)[1]
        for name, data in (
            ("few", table(tmp_path / "few.csv")),
            ("many", table(tmp_path / "many.csv", *more)),
        )
    ]
    assert files[0] == files[1]


def test_a_column_that_only_looks_like_identifiers_voids_the_promise(tmp_path):
    """That it was set aside at all was read from the rows."""
    declared = {name: entry for name, entry in DECLARED.items() if name != "case"}
    data = table(tmp_path / "data.csv", *({"case": f"AB-{i:04}"} for i in range(900)))
    learned, _ = released(data, tmp_path / "out", "uniform before", schema=declared)
    assert [column.name for column in learned.fresh] == ["case"]
    assert learned.model.promises.sampled is None
    assert any(
        note == "Read from the rows, as the schema leaves it open: labels, missing values, form of case."
        for note in learned.notes
    )


def test_noise_says_which_values_it_does_not_cover(tmp_path, monkeypatch):
    taking_part(monkeypatch, N_ROWS)
    declared = {**DECLARED, "ward": "category"}
    learned, _ = released(table(tmp_path / "data.csv"), tmp_path / "out", "noise", schema=declared)
    (said,) = [note for note in learned.account.notes if note.startswith("WARNING: the noise")]
    assert "which values there may be in ward: that was read from the rows" in said
    learned, _ = released(table(tmp_path / "data.csv"), tmp_path / "all", "noise")
    assert not any(note.startswith("WARNING: the noise") for note in learned.account.notes)


def test_hierarchies_that_are_made_from_the_rows_are_named(tmp_path, monkeypatch):
    taking_part(monkeypatch, N_ROWS)
    data, asked = table(tmp_path / "data.csv"), {**HIERARCHIES, "age": "auto"}
    learned, _ = released(data, tmp_path / "out", "noise", hierarchies=asked)
    (said,) = [note for note in learned.account.notes if note.startswith("WARNING: the noise")]
    assert "which values there may be in age: that was read from the rows" in said
