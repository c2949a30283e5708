"""A form asks for the same request as the command line, and its file repeats it."""

import pytest

from tabveil.auditing import config
from tabveil.auditing.options import OPTIONS
from tabveil.auditing.policy import Policy
from tabveil.auditing.request import AuditRequest
from tabveil.errors import TabveilError
from tabveil.web import asking

COLUMNS = ["age", "sex", "a,b", " space", "job"]
TABLES = {"train": "/d/t.csv", "synthetic": "/d/s.csv", "control": "/d/c.csv"}


def names_of_fields():
    form = asking.AuditForm.of({}, COLUMNS, [])
    return {field.name for field in form.more} | set(form.roles) | {"metrics", "attackers", "policy"}


def test_every_option_of_the_command_line_has_its_place():
    """An option that is added to the audit is in the form, or is named where it is left out."""
    told = {name for name, option in OPTIONS.items() if option.help}
    assert names_of_fields() | set(asking.ELSEWHERE) | set(asking.NOT_ASKED) == told
    assert set(asking.NOT_ASKED) == {"scheduler"}


def sent(shown):
    """What a browser sends of a form as it is shown."""
    form = {field.name: [field.value] for field in (*shown.policy, *shown.more) if field.kind != "many"}
    form |= {field.name: list(field.chosen) for field in shown.policy if field.kind == "many"}
    form |= {name: [column for column in COLUMNS if column in chosen] for name, chosen in shown.roles.items()}
    form |= {"metrics": list(shown.metrics), asking.LISTS_OF_METRICS: [shown.metric_settings]}
    for place, profile in enumerate(shown.attackers):
        own = f"attacker.{place}."
        form |= {f"{own}name": [profile.name], f"{own}links": [profile.links]}
        form |= {f"{own}knows": list(profile.knows), f"{own}wants": list(profile.wants)}
    return {key: value for key, value in form.items() if value}


def test_a_form_that_is_left_as_it_is_asks_for_the_defaults():
    said = asking.plain(sent(asking.AuditForm.of({}, COLUMNS, [])), COLUMNS, TABLES)
    request = AuditRequest.read(said)
    plain = AuditRequest.read({**TABLES, "policy": {}})
    assert request == plain
    assert request.for_page() == plain.for_page()


FULL = {
    **TABLES,
    "title": "Visits, second try",
    "secrets": ["job"],
    "known": ["age", " space"],
    "quasi_identifiers": ["sex", "a,b"],
    "sensitive": ["job"],
    "target": ["age"],
    "drop": ["a,b"],
    "person": " space",
    "auxiliary": [[["age", "sex"], ["job"]], [["age"], ["sex"]]],
    "metrics": ["linkability", {"name": "inference", "n_neighbors": 3}],
    "attackers": [
        {"name": "colleague", "knows": ["age", "a,b"], "wants": ["job"]},
        {"name": "joiner", "links": [["age"], ["job", "sex"]]},
        {"name": "third", "wants": ["age"]},
    ],
    "policy": {"recipient": "a group", "context": "at home", "confidence": 0.9, "copies": 0.01,
               "thresholds": {"inference": 0.02}, "required": ["linkability", "inference"]},
    "quick": True,
    "drop_identifiers": True,
    "independent_rows": True,
    "utility": False,
    "power": True,
    "advice": False,
    "show_values": True,
    "contrastive": True,
    "seed": 7,
    "sample": 500,
    "threads": 2,
    "memory": "2GiB",
    "device": "cpu",
}  # fmt: skip


def complete():
    try:
        return AuditRequest.read(FULL)
    except TabveilError:  # this metric has no such setting
        return AuditRequest.read(
            {**FULL, "metrics": ["linkability", {"name": "linkability", "n_neighbors": [3]}]}
        )


def test_whatever_can_be_asked_goes_through_the_form_and_comes_back():
    request = complete()
    said = {**config.written(request), "threads": 2, "memory": "2GiB", "device": "cpu"}
    form = sent(asking.AuditForm.of(said, COLUMNS, []))
    assert AuditRequest.read(asking.plain(form, COLUMNS, TABLES)) == request


def test_the_file_repeats_the_request(tmp_path):
    folder = tmp_path / "one" / "runs" / "x"
    folder.mkdir(parents=True)
    tables = {role: tmp_path / f"{role}.csv" for role in TABLES}
    said = {**config.written(complete()), **{role: str(path) for role, path in tables.items()}}
    request, text = asking.request_file(said, folder)
    (folder / "audit.yaml").write_text(text)
    again = AuditRequest.read(folder / "audit.yaml")
    for role, path in tables.items():
        assert getattr(again, role).resolve() == path
    assert again.without_tables() == request.without_tables()
    assert str(tmp_path) not in text


def test_what_the_machine_gives_stands_on_the_command_line():
    request = AuditRequest.read({**TABLES, "threads": 2, "memory": "2GiB", "device": "cpu"})
    assert asking.words(request) == ("--threads", "2", "--device", "cpu", "--memory", str(2 * 1024**3))
    assert asking.words(AuditRequest.read(TABLES)) == ()


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"secrets": ["height"]}, "no column 'height'"),
        ({"policy.confidence": ["2"]}, "confidence"),
        ({"policy.thresholds.inference": ["0"]}, "inference"),
        ({"policy.copies": ["all"]}, "copies must be a number"),
        ({"metrics": ["mdm"]}, "Did you mean 'mmd'"),
        ({"metrics_with_settings": ["{name: linkability, n_neighbors: few}"]}, "n_neighbors"),
        ({"metrics_with_settings": ["{name: ["]}, "not valid YAML"),
        ({"attacker.0.wants": ["age"]}, "give each attacker a name"),
        ({"attacker.0.name": ["x"]}, "must say what the attacker wants"),
        ({"attacker.0.name": ["x"], "attacker.0.links": ["a|b|c;d|e"]}, "links"),
        ({"auxiliary": ["age"]}, "auxiliary"),
        ({"seed": ["soon"]}, "seed must be a whole number"),
        ({"sample": ["1"]}, "sample"),
        ({"memory": ["much"]}, "memory must be a size"),
        ({"quasi_identifiers": ["age"], "sensitive": ["age"]}, "it can be one"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_line_and_nothing_is_lost(form, why):
    with pytest.raises(TabveilError, match=why):
        AuditRequest.read(asking.plain(form, COLUMNS, TABLES))
    shown = asking.AuditForm.of({}, COLUMNS, []).filled(form)
    again = sent(shown)
    for name, value in form.items():
        offered = [item for item in value if item in COLUMNS or name not in asking.ROLES]
        assert again.get(name, []) == offered, name


def test_templates_are_policies_that_the_program_has():
    assert asking.templates()["0.05"] == Policy()
    assert set(asking.templates()) == {"0.05", "0.09"}
    fields = {field.name: field.value for field in asking.policy_fields(asking.templates()["0.09"])}
    assert fields["policy.thresholds.inference"] == "0.09"
