"""Files of settings that nobody can have meant: each is refused in a line that says why."""

import pytest
import yaml

from tabveil.core.settings import yaml_files
from tabveil.errors import SchemaError

LAUGHS = "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 12)}]\n"
    for before, name in zip("abcde", "bcdef", strict=True)
)

FAULTS = {
    "a key twice": ("seed: 1\nrows: 3\nseed: 2\n", "policy: line 3: key 'seed' stands there twice."),
    "a key twice, below": ("a:\n  b: 1\n  b: 1\n", "policy: line 3: key 'b' stands there twice."),
    "a list in itself": (
        "&a [*a]",
        "policy: lists and mappings lie too deep in each other, or in themselves.",
    ),
    "a mapping in itself": (
        "a: &x {b: *x}",
        "policy: lists and mappings lie too deep in each other, or in themselves.",
    ),
    "a file that grows": (
        f"a: &a [1, 1, 1]\n{LAUGHS}",
        "policy: lists and mappings lie too deep in each other, or in themselves.",
    ),
    "deep lists": (
        "[" * 90 + "]" * 90,
        "policy: lists and mappings lie too deep in each other, or in themselves.",
    ),
    "deeper lists": ("[" * 9000, "policy: not valid YAML or JSON."),
    "a long number": ("seed: " + "9" * 400, "policy: a whole number has more than 18 digits."),
    "a longer number": ("seed: " + "9" * 5000, "policy: not valid YAML or JSON."),
    "a number in other digits": ("seed: 0x" + "f" * 40, "policy: a whole number has more than 18 digits."),
    "no date": ("day: 2020-99-99", "policy: not valid YAML or JSON."),
    "code": ("a: !!python/object/apply:os.getcwd []", "policy: line 1: not valid YAML."),
    "no key": ("? [a]\n: 1", "policy: line 1: not valid YAML."),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_yaml_file_that_nobody_can_have_meant(fault):
    text, words = FAULTS[fault]
    with pytest.raises(SchemaError) as refused:
        yaml_files.parse(text, "policy")
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"seed": 1, "seed": 1}', "key 'seed' stands there twice."),
        ('{"a": "\\ud800"}', "'?' holds half a character."),
        ('{"a": ' + "9" * 400 + "}", "a whole number has more than 18 digits."),
        ("[" * 90 + "]" * 90, "lists and mappings lie too deep in each other, or in themselves."),
        ("[" * 90_000, "not valid YAML or JSON."),
    ],
)
def test_a_json_file_that_nobody_can_have_meant(text, words):
    with pytest.raises(SchemaError) as refused:
        yaml_files.parse(text, "policy", as_json=True)
    assert str(refused.value) == f"policy: {words}"


def test_parts_may_still_be_named_merged_and_used_again():
    text = "a: &a {x: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b, y: [*a, *b]}\n1: one\n'1': text\n"
    assert yaml_files.parse(text, "here") == yaml.safe_load(text)
