import numpy as np
import pytest
from supplies.populations import adult_thirds, population, split, with_people

from tabveil.core.table import Categorical, Numeric, Schema, Split
from tabveil.core.workers import working
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks import MLInference
from tabveil.metrics.attacks.attack import _levels, _rooms

NAN = np.nan
N = 200


def people(seed=0):
    """Each column is one reason to choose or not to choose it."""
    rng = np.random.default_rng(seed)
    job = rng.integers(0, 5, N)
    schema = Schema(
        (
            Numeric(name="id", low=0, high=10_000, decimals=0),
            Categorical(name="name", labels=tuple(map(str, range(10_000)))),
            Categorical(name="planet", labels=("earth", "mars")),
            Categorical(name="pet", labels=("cat", "dog")),  # mostly missing
            Categorical(name="job", labels=tuple("abcde")),
            Numeric(name="job_code", low=0, high=50, decimals=0),  # gives the job away
            Categorical(name="smokes", labels=("no", "yes")),
            Categorical(name="region", labels=tuple("abcdefgh")),
            Numeric(name="income", low=0, high=1),
        )
    )
    values = [
        rng.permutation(10_000)[:N],
        rng.permutation(10_000)[:N],
        np.zeros(N),
        np.where(rng.random(N) < 0.8, NAN, rng.integers(0, 2, N)),
        job,
        job * 10,
        rng.integers(0, 2, N),
        rng.integers(0, 8, N),
        rng.random(N),
    ]
    return schema, np.column_stack(values).astype(float)


def attack(word="secret", n_labels=None, **settings):
    """Make an attack that chooses columns; there is no limit to their labels unless it is given."""
    kind = type("X", (MLInference,), {"name": "x", "word": word, "most_labels": n_labels})
    return kind(**settings)


def choose_secrets(split, limit, **settings):
    return attack(n_secrets=limit, **settings).chosen(split)


def known_columns(split, secret, known):
    return attack(known=known).known_beside(secret, split)


def tables():
    schema, train = people(0)
    return split(schema, train, people(1)[1], people(2)[1])


def test_what_is_hard_to_guess_comes_first_and_what_is_no_secret_not_at_all():
    chosen, note = choose_secrets(tables(), limit=99)
    # Seven in eight regions are guessed wrong, one in two smokers. Labels come before numbers; the job is
    # given away by its code, and so is the code by the job: both come last.
    assert chosen == ("region", "smokes", "income", "job", "job_code")
    assert note == "Tried as secret: region, smokes, income, job, job_code."


def test_the_best_other_column_decides_how_hard_one_is_to_guess():
    schema = Schema(
        (
            Categorical(name="a", labels=("x", "y")),
            Categorical(name="b", labels=("u", "v")),
            Categorical(name="c", labels=("s", "t", "r")),
        )
    )
    # By c, a is right in 2 + 2 + 1 of 5 rows and b in 2 + 1 + 1 (missing is a value); by a, c in 2 + 2.
    rows = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1], [1, NAN, 1], [1, 0, 2]])
    table = split(schema, rows, rows, rows).synthetic
    assert _rooms(table, ["a", "b", "c"]) == pytest.approx({"a": 0.0, "b": 0.2, "c": 0.2})


@pytest.mark.parametrize("threads", [1, 3])
def test_how_hard_columns_are_to_guess_is_counted_pair_by_pair(threads):
    table = population("mixed", (5, 5, 400), seed=2).synthetic
    with working(threads=threads):
        found = _rooms(table, table.schema.names)
    levels = {name: _levels(table.column(name)) for name in table.schema.names}
    for name, secret in levels.items():
        right = [
            sum(np.bincount(secret[other == level]).max() for level in np.unique(other))
            for others, other in levels.items()
            if others != name
        ]
        assert found[name] == 1 - max(right) / 400


def test_the_note_says_how_many_were_left_out():
    chosen, note = choose_secrets(tables(), limit=1, word="target")
    assert chosen == ("region",)
    assert note.startswith("Tried as target: region, chosen among 5 suitable columns (an outcome, if")


def test_known_columns_and_many_labels_are_left_out():
    assert choose_secrets(tables(), limit=99, n_labels=5)[0][0] == "smokes"
    chosen, _ = choose_secrets(tables(), limit=99, known=("region", "income"))
    assert chosen == ("smokes", "job", "job_code")


def test_order_of_rows_and_columns_does_not_matter():
    plain = tables()
    rng = np.random.default_rng(3)
    names = [plain.schema.names[i] for i in rng.permutation(len(plain.schema))]
    moved = Split(
        **{
            role: getattr(plain, role).take(rng.permutation(N)).select(names)
            for role in ("train", "control", "synthetic")
        }
    )
    assert choose_secrets(plain, limit=3) == choose_secrets(moved, limit=3)


def test_identifiers_are_taken_where_there_is_nothing_else():
    schema, values = people()
    names = ["id", "name", "planet"]
    only = split(schema, values, values, values).select(names)
    assert choose_secrets(only, limit=9)[0] == ("name", "id")


def test_nothing_suitable():
    schema, values = people()
    constant = split(schema, values, values, values).select(["planet", "pet"])
    with pytest.raises(NotApplicable, match=r"^x: no column is a suitable secret: .* mostly missing\.$"):
        choose_secrets(constant, limit=3)
    with pytest.raises(NotApplicable, match="at least two columns"):
        choose_secrets(tables().select(["smokes"]), limit=3)


def test_a_column_constant_in_the_release_or_among_people_is_no_secret():
    for role in ("train", "synthetic"):
        both = population("levels", (50, 50, 50))
        values = {r: getattr(both, r).values.copy() for r in ("train", "control", "synthetic")}
        for r in ("train", "control") if role == "train" else ("synthetic",):
            values[r][:, 1] = 0
        chosen, _ = choose_secrets(split(both.schema, **values), limit=9)
        assert sorted(chosen) == ["c0", "c2", "c3"]


def test_given_names_are_checked():
    assert attack(secrets=("smokes", "job")).chosen(tables())[0] == ("job", "smokes")
    with pytest.raises(ParameterError, match="Did you mean 'smokes'"):
        attack(secrets=("smoke",)).chosen(tables())
    with pytest.raises(ParameterError, match="Did you mean 'region'"):
        known_columns(tables(), "job", ("regio",))


def test_all_others_are_known_unless_said():
    few = tables().select(["smokes", "region", "job"])
    assert known_columns(few, "region", None) == ("job", "smokes")
    assert known_columns(few, "region", ("smokes", "region")) == ("smokes",)
    with pytest.raises(ParameterError, match="x: known must name a column beside 'region'"):
        known_columns(few, "region", ("region",))
    with pytest.raises(NotApplicable, match="at least two columns"):
        known_columns(few.select(["region"]), "region", None)


def test_adult():
    schema, (train, control, release) = adult_thirds()
    chosen, _ = choose_secrets(split(schema, train, control, release), limit=3)
    assert chosen == ("income", "occupation", "relationship")
    everything, _ = choose_secrets(split(schema, train, control, release), limit=99)
    labels = [name for name in everything if isinstance(schema[name], Categorical)]
    assert labels[-1] == "education"  # beside its number it is no secret


def test_a_number_that_only_rows_of_one_person_share_names_the_person():
    schema, rows = people()
    visits = np.repeat(rows, 3, axis=0)
    tables = split(schema, visits, people(1)[1], people(2)[1])
    assert {"id", "name"} & set(choose_secrets(tables, limit=99)[0])
    whose = with_people(tables, np.repeat(np.arange(N), 3), N + np.arange(N))
    assert not {"id", "name"} & set(choose_secrets(whose, limit=99)[0])
