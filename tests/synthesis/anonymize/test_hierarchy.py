"""Hierarchies made from what somebody writes down, or from the values: levels by hand, and proposals."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from tabveil.errors import SchemaError
from tabveil.synthesis.anonymize import Hierarchy, configuration
from tabveil.synthesis.anonymize.building import ColumnValues, read_entry
from tabveil.synthesis.anonymize.proposing import propose, template
from tabveil.tables import reading as frame

DAYS = [dt.date(2019, 12, 31), dt.date(2020, 1, 1), dt.date(2020, 4, 30), dt.date(2021, 7, 1)]


def made(values, entry, folder=Path(), name="x"):
    loaded = frame.load_table(pd.DataFrame({name: values, "other": range(len(values))}))
    return read_entry(name, entry, folder).build(ColumnValues.of(loaded.table, name, loaded.layout))


def levels(hierarchy):
    """What each leaf becomes, level by level."""
    return {
        leaf: tuple(labels[code] for labels, code in zip(hierarchy.labels[1:], codes[1:], strict=True))
        for leaf, codes in zip(hierarchy.leaves, hierarchy.codes.T, strict=True)
    }


def test_widths_of_whole_numbers():
    found = made([18, 24, 25, 39], {"intervals": [5, 10], "origin": 0})
    assert len(found.leaves) == 22  # every age between, seen or not
    assert levels(found)["18"] == ("15-19", "10-19", "*")
    assert levels(found)["25"] == ("25-29", "20-29", "*")
    assert found.edges[1][found.codes[1, found.leaves.index("24")]].tolist() == [20, 25]


def test_widths_of_fractions_meet_where_they_should():
    found = made([0.1, 0.3, 0.6, 0.7], {"intervals": [0.1, 0.3]})
    assert levels(found)["0.3"] == ("[0.3, 0.4)", "[0.3, 0.6)", "*")
    assert levels(found)["0.6"] == ("[0.6, 0.7)", "[0.6, 0.9)", "*")


def test_everything_beyond_bounds_is_one_value():
    found = made([3, 17, 40, 85, 99], {"intervals": [20, 40], "bottom": 10, "top": 80})
    assert levels(found)["3"] == ("<10", "<10", "*")
    assert levels(found)["17"] == ("10-19", "10-39", "*")
    assert levels(found)["85"] == levels(found)["99"] == (">=80", ">=80", "*")


def test_cuts_level_by_level():
    found = made([1, 2, 5, 9], {"intervals": [[2, 5], [5]]})
    assert levels(found)["1"] == ("<2", "<5", "*")
    assert levels(found)["5"] == (">=5", ">=5", "*")
    assert levels(found)["4"] == ("2-4", "<5", "*")


def test_trees_of_labels():
    tree = {"south": {"BW": ["Ulm", "Aalen"], "BY": ["Hof"]}, "north": {"SH": ["Kiel"]}}
    found = made(["Ulm", "Hof", "Kiel", "Ulm"], {"tree": tree})
    assert levels(found) == {
        "Ulm": ("BW", "south", "*"),
        "Aalen": ("BW", "south", "*"),
        "Hof": ("BY", "south", "*"),
        "Kiel": ("SH", "north", "*"),
    }
    assert np.isinf(found.cells[1])  # nobody lives in Aalen


def test_labels_that_no_tree_names_have_a_group():
    found = made(["Ulm", "Hof", "Kiel"], {"tree": {"south": ["Ulm"]}, "others": "elsewhere"})
    assert levels(found)["Kiel"] == ("elsewhere", "*")


def test_numbers_in_a_tree():
    found = made([1, 2, 3, 2], {"tree": {"low": [1, 2], "high": [3]}})
    assert levels(found)["3"] == ("high", "*")


def test_masked_characters():
    assert levels(made(["12345", "12399"], {"mask": "right", "steps": [2, 4]}))["12345"] == (
        "123**",
        "1****",
        "*",
    )
    assert levels(made(["12345", "12"], {"mask": "left", "steps": [3]}))["12"] == ("**", "*")


def test_calendar_units():
    found = made(DAYS, {"dates": ["month", "quarter", "year", "decade"]})
    assert levels(found)["2019-12-31"] == ("2019-12", "2019-Q4", "2019", "2010s", "*")
    assert levels(found)["2020-04-30"] == ("2020-04", "2020-Q2", "2020", "2020s", "*")
    assert len(found.leaves) == (DAYS[-1] - DAYS[0]).days + 1
    halves = made(DAYS, {"dates": ["half year", "century"]})
    assert levels(halves)["2021-07-01"] == ("2021-H2", "2000 to 2099", "*")


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
@pytest.mark.parametrize("header", ["", "x{0}level 1{0}level 2\n"])
def test_files_as_arx_writes_them(tmp_path, delimiter, header):
    lines = ["39;30-39;*", "41;40-49;*", "45;40-49;*"]
    text = header.format(delimiter) + "\n".join(lines).replace(";", delimiter)
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    found = made([39, 41, 41], {"file": "x.csv"}, tmp_path)
    assert levels(found) == {"39": ("30-39", "*"), "41": ("40-49", "*"), "45": ("40-49", "*")}
    assert found.shares[1].tolist() == [1 / 3, 2 / 3, 2 / 3]


def test_a_missing_value_is_a_leaf_that_meets_the_others_at_the_top():
    found = made(["a", "b", None], {"tree": {"both": ["a", "b"], "none": ["c"]}})
    assert levels(found)[""] == ("", "*")
    assert found.missing == 3
    assert found.encode(np.array([0.0, np.nan, 7.0])).tolist() == [0, 3, -1]


@pytest.mark.parametrize("cells", [[0.5], [0.5, 1.5, 2.5], [3.0], [3.0, 4.0]])
def test_values_are_found_whether_they_are_whole_or_not(cells):
    found = made(cells, "auto")
    assert found.encode(np.array([*cells, 0.75])).tolist() == [*range(len(cells)), -1]


def test_dates_say_where_their_units_begin_and_end():
    days = ["2020-02-03", "2020-03-31", "1969-12-31", "2101-01-01"]
    found = made(pd.to_datetime(days), {"dates": ["month", "quarter", "decade", "century"]})
    leaf = int(np.flatnonzero(found.cells == np.datetime64(days[0]).astype(int))[0])
    ends = [edges[codes[leaf]] for codes, edges in zip(found.codes[1:5], found.edges[1:5], strict=True)]
    written = [tuple(each.astype("M8[D]").astype(str)) for each in ends]
    assert written == [
        ("2020-02-01", "2020-03-01"),
        ("2020-01-01", "2020-04-01"),
        ("2020-01-01", "2030-01-01"),
        ("2000-01-01", "2100-01-01"),
    ]
    assert found.edges[0] is None
    assert found.edges[5] is None


def test_a_missing_value_stays_missing_in_the_release():
    people = pd.DataFrame({"town": ["a", "b", "a", "b", None, None], "x": [1, 2, 3, 4, 5, 6]})
    loaded = frame.load_table(people)
    tree = {"tree": {"both": ["a", "b"], "none": ["c"]}}
    asked = configuration.read({"hierarchies": {"town": tree}, "models": [{"k": 2}], "keep": ["x"]})
    found = configuration.apply(asked, loaded)
    assert np.isnan(found.table.column("town")).sum() == 2


def test_levels_must_be_nested():
    with pytest.raises(SchemaError, match="2 of the 2 values of a level lie under several"):
        Hierarchy(
            column="x",
            leaves=("a", "b", "c", "d"),
            cells=np.arange(4.0),
            codes=np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 1, 0, 1]]),
            labels=(("a", "b", "c", "d"), ("ab", "cd"), ("x", "y")),
        )


def automatic(values):
    found = made(values, "auto")
    return [len(labels) for labels in found.labels], levels(found)


def test_few_values_only_have_one_above():
    assert automatic(["f", "m", "f"])[0] == [2, 1]


def test_numbers_are_cut_at_rounded_quantiles_and_joined_in_pairs():
    sizes, of = automatic(list(range(1000)))
    assert sizes == [1000, 16, 8, 4, 2, 1]
    cuts = {labels[0] for labels in of.values()}
    assert "<60" in cuts
    assert all(label.lstrip("<>=").split("-")[0].endswith("0") for label in cuts)


def test_dates_get_the_units_that_part_them():
    days = pd.date_range("2020-01-01", "2022-12-31", freq="9D").date.tolist()
    found = made(days, "auto")
    assert found.labels[-2] == ("2020", "2021", "2022")


def test_codes_get_prefixes():
    codes = [f"{letter}{digit}.{end}" for letter in "AB" for digit in range(10, 14) for end in "12"]
    assert automatic(codes)[0] == [16, 8, 2, 1]  # the dot is no level


def test_frequent_labels_stay_longest():
    labels = [name for count, name in enumerate("abcdefgh", start=1) for _ in range(count)]
    of = automatic(labels)[1]
    assert of["h"] == ("h", "h", "*")
    assert of["f"] == ("f", "other", "*")
    assert of["a"] == ("other", "other", "*")


def test_ordered_labels_are_joined_with_their_neighbors():
    grades = pd.Categorical(list("abcde") * 2, categories=list("abcde"), ordered=True)
    assert automatic(grades)[1]["c"] == ("c to d", "a to d", "*")


def test_the_proposed_file_can_be_used_and_names_nobody():
    people = pd.DataFrame(
        {
            "age": np.arange(200) % 90,
            "town": ["Ulm"] * 90 + ["Bonn"] * 60 + ["Kiel"] * 30 + ["Hof"] * 17 + ["Tiny", "Rare", "Lone"],
            "code": [f"N{n:03d}" for n in np.arange(200) % 50],
            "case": [f"patient {n}" for n in range(200)],
        }
    )
    loaded = frame.load_table(people)
    text = template(loaded)
    assert not {"Tiny", "Rare", "Lone", "patient"} & set(text.replace(",", " ").replace("]", " ").split())
    assert "Kiel" in text
    said = yaml.safe_load(text)
    assert set(said["hierarchies"]) == {"age", "town", "code"}
    assert said["drop"] == ["case"]
    found = configuration.apply(configuration.read(said), loaded)
    assert found.class_sizes.min() >= 5
    assert "case" not in found.table.schema.names
    with pytest.raises(SchemaError, match="no column is left"):
        template(frame.load_table(people[["case"]]))


def test_columns_that_set_people_apart_are_proposed():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "age": rng.integers(0, 60, 400),
            "place": rng.integers(0, 40, 400).astype(str),
            "sex": rng.integers(0, 2, 400).astype(str),
            "same": ["x"] * 400,
            "case": [f"patient {n}" for n in range(400)],
        }
    )
    found = propose(frame.load_table(people))
    columns = {column.name: column for column in found.columns}
    assert columns["case"].naming
    assert not columns["case"].likely
    assert columns["age"].likely
    assert columns["age"].partner == "place"
    assert not columns["same"].likely
    assert columns["same"].separated == 0
    assert [name for name, _ in found.together][:2] in (["age", "place"], ["place", "age"])
    pairs = people.groupby(["age", "place"]).size()
    assert columns["place"].with_partner == pytest.approx((pairs == 1).sum() / 400)


def test_columns_that_set_nobody_apart_are_not_asked_for_first():
    alike = {"born": range(40), "sex": ["f", "m"] * 20, "town": ["a", "a", "b", "b"] * 10}
    assert propose(frame.load_table(pd.DataFrame(alike))).together == ()
