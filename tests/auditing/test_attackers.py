import pytest

import tabveil
from tabveil.auditing import attackers
from tabveil.core.table import Split
from tabveil.errors import ParameterError, SchemaError


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ({"name": "x"}, "attackers.0: must say what the attacker wants"),
        ({"name": "x", "knows": ["age"]}, "must say what the attacker wants"),
        ({"name": "x", "wants": ["age"], "knows": ["age"]}, "must not share a column"),
        ({"name": "x", "links": [["age"], ["age", "sex"]]}, "must not share a column"),
        ({"name": "x", "links": [["age"]]}, "attackers.0.links"),
        ({"name": "x", "wants": []}, "attackers.0.wants"),
        ({"name": "", "wants": ["age"]}, "attackers.0.name"),
        ({"name": "x", "wants": ["age"], "hates": ["sex"]}, "attackers.0.hates: unknown key"),
    ],
)
def test_a_faulty_profile_is_named_in_one_line(profile, message):
    with pytest.raises(SchemaError) as caught:
        attackers.read({"attackers": [profile]})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_attackers_of_one_name_are_refused():
    with pytest.raises(SchemaError, match="different names"):
        attackers.read({"attackers": [{"name": "x", "wants": ["age"]}, {"name": "x", "wants": ["sex"]}]})


def test_a_file_is_read(tmp_path):
    path = tmp_path / "who.yaml"
    path.write_text("attackers:\n  - {name: broker, links: [[age], [sex, ward]]}\n")
    assert attackers.read(path)[0].columns() == ("age", "sex", "ward")
    with pytest.raises(ParameterError, match="there is no such file"):
        attackers.read(tmp_path / "nobody.yaml")


@pytest.fixture(scope="module")
def tables():
    return tuple(tabveil.datasets.hospital(300, seed=seed) for seed in (1, 2, 3))


def test_each_attacker_tries_what_they_have_the_knowledge_for(tables):
    who = {
        "attackers": [
            {"name": "neighbor", "knows": ["age", "sex"], "wants": ["ward"]},
            {"name": "broker", "links": [["age", "sex"], ["ward", "cost"]]},
        ]
    }
    report = tabveil.audit(*tables, metrics=["inference", "linkability", "mmd"], attackers=who)
    names = [result.key for result in report.results]
    assert names == ["inference", "linkability", "mmd", "inference: neighbor", "linkability: broker"]
    assert report["inference: neighbor"].params["secrets"] == ("ward",)
    assert report["inference: neighbor"].params["known"] == ("age", "sex")
    assert report["linkability: broker"].params["auxiliary"] == ((("age", "sex"), ("ward", "cost")),)
    assert report["inference"].params["secrets"] is None


def test_knowledge_reaches_every_metric_that_can_use_it(tables):
    report = tabveil.audit(
        *tables, metrics=["inference", "gtcap", "mmd"], secrets=["ward"], known=["age", "sex"]
    )
    assert report["inference"].params["known"] == report["gtcap"].params["known"] == ("age", "sex")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"secrets": ["wart"]}, "no column 'wart'. Did you mean 'ward'?"),
        ({"auxiliary": [(["age"], ["sexx"])]}, "no column 'sexx'"),
        ({"attackers": {"attackers": [{"name": "x", "wants": ["wart"]}]}}, "no column 'wart'"),
        ({"known": "age"}, "must be a list of columns"),
    ],
)
def test_unknown_columns_are_named_before_the_work(tables, settings, message):
    class Never:
        name, labels = "never", None

        def __call__(self, split: Split, *, rng):
            raise AssertionError

    with pytest.raises(ParameterError, match=message):
        tabveil.audit(*tables, metrics=[Never()], **settings)
