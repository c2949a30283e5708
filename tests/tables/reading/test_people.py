"""Whose rows are whose: the column that names people, read from tables as they come."""

import numpy as np
import pandas as pd
import pytest

from tabveil.errors import SchemaError
from tabveil.tables.reading import load_split, load_table

VISITS = pd.DataFrame({"patient": ["b", "a", "b", None, None], "age": [61, 30, 62, 30, 30]})
OTHERS = pd.DataFrame({"patient": ["c", "c", "d"], "age": [40, 41, 50]})
RELEASE = pd.DataFrame({"age": [33, 44]})


def load(train=VISITS, control=OTHERS, synthetic=RELEASE, **given):
    return load_split(train, synthetic, control, **({"person": "patient"} | given))


def test_rows_of_one_value_are_one_person_and_a_row_without_one_is_a_person():
    split = load().split
    people = split.train.people
    assert people[0] == people[2]
    assert len({*people.tolist()}) == 4
    assert split.control.people[0] == split.control.people[1] != split.control.people[2]
    assert split.train.n_people == 4
    assert split.control.n_people == 2
    assert not set(people) & set(split.control.people)


def test_the_column_is_not_compared_and_a_release_may_lack_it_or_have_it():
    for synthetic in (RELEASE, RELEASE.assign(patient=["x", "y"])):
        loaded = load(synthetic=synthetic)
        assert loaded.split.schema.names == ("age",)
        assert loaded.split.synthetic.people is None
        assert [item.reason for item in loaded.dropped] == ["person"]
        assert loaded.inputs["train"].people == 4
        assert loaded.inputs["synthetic"].people is None


def test_the_schema_may_say_it_and_what_is_given_by_name_comes_first():
    both = {"train": VISITS.assign(case=range(5)), "control": OTHERS.assign(case=range(5, 8))}
    both["synthetic"] = RELEASE.assign(case=[8, 9])
    by_schema = load(**both, person=None, schema={"person": "patient"})
    assert by_schema.split.train.n_people == 4
    by_name = load(**both, person="case", schema={"drop": ["patient"], "person": "patient"})
    assert by_name.split.train.n_people == 5


def test_numbers_are_told_apart_as_they_are_written():
    train = pd.DataFrame({"patient": ["007", "7", "7"], "age": [1, 2, 3]})
    control = pd.DataFrame({"patient": ["08", "8"], "age": [1, 2]})
    assert load(train, control).split.train.n_people == 2
    large = 2**53 + np.arange(3)  # as floats, two of them are one
    train = pd.DataFrame({"patient": large, "age": [1, 2, 3]})
    assert load(train, pd.DataFrame({"patient": [1, 2], "age": [1, 2]})).split.train.n_people == 3


def test_a_person_is_one_whatever_the_types_of_the_tables_are():
    train = pd.DataFrame({"patient": [1, 2], "age": [1, 2]})
    control = pd.DataFrame({"patient": [2.0, np.nan, 3.0], "age": [1, 2, 3]})
    loaded = load(train, control)
    assert loaded.split.control.n_people == 2  # the second is in train, too
    assert any("1 control row" in note and "1 person" in note for note in loaded.notes)


def test_control_rows_of_training_people_are_left_out_and_said():
    control = pd.concat([OTHERS, VISITS.iloc[:1]])
    loaded = load(control=control)
    assert len(loaded.split.control) == 3
    assert loaded.split.control.n_people == 2
    (note,) = (note for note in loaded.notes if "Left out" in note)
    assert "1 control row" in note
    assert "'patient'" in note or '"patient"' in note
    assert " b " not in note  # whose they are is nobody's business


def test_a_control_of_training_people_alone_is_refused():
    with pytest.raises(SchemaError, match="everybody in control has rows in train"):
        load(control=VISITS.iloc[:3])


def test_words_that_are_read_have_people_too():
    loaded = load(
        VISITS.assign(town=list("uvwxy")), OTHERS.assign(town=list("uvw")), RELEASE.assign(town=["u", "v"])
    )
    assert loaded.written is not None
    assert loaded.written.train.n_people == 4
    assert loaded.written.control.n_people == 2


@pytest.mark.parametrize("role", ["train", "control"])
def test_a_column_that_a_real_table_lacks_is_refused_by_name(role):
    tables = {"train": VISITS, "control": OTHERS}
    tables[role] = tables[role].rename(columns={"patient": "patients"})
    with pytest.raises(SchemaError, match=f"{role} has no column.*patient"):
        load(**tables)


def test_a_dropped_column_names_nobody():
    with pytest.raises(SchemaError, match="dropped by the schema"):
        load(schema={"drop": ["patient"]})


def test_one_person_and_people_of_one_row_are_said():
    alone = VISITS.assign(patient="a")
    assert any("belong to one person" in note for note in load(alone).notes)
    each = [table.assign(patient=np.arange(len(table)) + 10 * n) for n, table in enumerate((VISITS, OTHERS))]
    assert any("Nobody has more than one row" in note for note in load(*each).notes)


def test_without_control_there_are_people_in_train_alone():
    split = load(control=None).split
    assert split.train.n_people == 4
    assert len(split.control) == 0


def test_a_column_that_seems_to_name_people_with_several_rows_is_pointed_at():
    rng = np.random.default_rng(0)
    people, ages = np.repeat(np.arange(60), 3), rng.integers(0, 80, 180)
    visits = pd.DataFrame({"case": people, "label": [f"p{n}" for n in people], "age": ages})
    train, control = visits[visits.case < 30], visits[visits.case >= 30]
    release = pd.DataFrame({"case": people % 7, "label": "x", "age": ages})
    assert load(train, control, release, person=None).grouped_by == ("case", "label")
    assert load(train, control, release, person=None, independent_rows=True).grouped_by == ()
    parted = visits.sample(frac=1, random_state=0)  # a split of rows
    loaded = load(parted[:90], parted[90:], release, person=None)
    assert loaded.grouped_by == ()
    assert "case" in loaded.parted_by


def test_for_a_generator_the_column_is_an_identifier():
    visits = pd.DataFrame({"patient": np.repeat(np.arange(40), 5), "age": np.arange(200) % 50})
    assert load_table(visits).identifiers == ()
    loaded = load_table(visits, schema={"person": "patient"})
    assert loaded.identifiers == ("patient",)
    assert dict(loaded.declared_identifiers) == {"patient": None}
