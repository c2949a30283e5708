"""The command shows a policy, writes one, and says what it does not know."""

import pytest
import yaml
from supplies.terminal import refused, run, work_in

from tabveil.auditing.policy import Policy, read_policy


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    return work_in(tmp_path, monkeypatch)


def test_a_policy_is_shown_or_written(folder):
    assert read_policy(yaml.safe_load(run("policy").stdout)) == Policy()
    asked = ("policy", "--template", "public", "--sensitivity", "medium", "--out", "policy.yaml")
    assert run(*asked).exit_code == 0
    assert read_policy("policy.yaml").thresholds.inference == 0.075
    assert "--force" in refused(*asked)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--template", "open"), "--template"),
        (("--template", "public", "--sensitivity", "x"), "--sensitivity"),
        (("--sensitivity", "low"), "--template"),
    ],
)
def test_what_it_does_not_know_is_refused(asked, words):
    assert words in refused("policy", *asked)
