"""Verdicts on the papers' claims follow from the numbers on the pages, and pages show what follows."""

import doctest
import json
import sys

import pytest
import yaml
from supplies.places import ROOT

from tabveil.errors import ParameterError

sys.path.append(str(ROOT / "experiments"))

import claims
import page_tables

PAGES = {page.name: page.read_text(encoding="utf-8") for page in sorted(claims.DOCS.glob("*.md"))}
WRITTEN = claims.read()
NEEDED = {"id", "verdict", "part", "claim", "where", "papers", "link"}
TABLE = """<!-- table: curve | tiny | adult | leaky | seen -->

| metric | 0% | 100% |
| --- | --- | --- |
| `gtcap` | <0.001 (0.00) | 0.940 (0.67) |
| `distance` | −0.018 | not computed |
| `change` | 0.001 → 0.532 | +57 ± 15 % |

<!-- end -->"""


@pytest.fixture(scope="module")
def numbers():
    return claims.Numbers(PAGES)


@pytest.fixture(scope="module")
def found(numbers):
    return claims.judged(WRITTEN, numbers)


def changed(mark, old, new):
    """All pages, with another number in one table."""
    page = next(name for name, text in PAGES.items() if f"<!-- table: {mark} -->" in text)
    before, begin, rest = PAGES[page].partition(f"<!-- table: {mark} -->")
    assert old in rest.split("<!-- end -->")[0]
    return claims.Numbers({**PAGES, page: before + begin + rest.replace(old, new, 1)})


def test_every_verdict_follows_from_its_numbers(found):
    assert claims.disagreements(found) == []


def test_a_wrong_number_is_found():
    """AIM at ε = 50, as if the distance to the closest record saw what an attack sees."""
    aim = "curve | private | adult | aim | seen"
    planted = changed(aim, "−0.006 (0.00) | −0.005 (0.00)", "−0.006 (0.00) | 0.050 (1.00)")
    wrong = claims.disagreements(claims.judged(WRITTEN, planted))
    assert wrong == ["rq2-risk-models: holds is said, holds in part follows"]


def test_a_wrong_verdict_is_found(numbers):
    claim = next(item for item in WRITTEN["claims"] if item["id"] == "canaries")
    planted = {**WRITTEN, "claims": [{**claim, "verdict": "does not hold"}]}
    wrong = claims.disagreements(claims.judged(planted, numbers))
    assert wrong == ["canaries: does not hold is said, holds follows"]


def test_page_and_data_are_those_that_follow(numbers):
    page, data, _ = claims.current(numbers, PAGES[claims.PAGE])
    assert page == PAGES[claims.PAGE], "python experiments/claims.py"
    assert data == (claims.DOCS / claims.DATA).read_text(encoding="utf-8"), "python experiments/claims.py"


def test_there_are_enough_claims_each_written_once():
    names = [claim["id"] for claim in WRITTEN["claims"]]
    assert len(names) == len(set(names)) >= 30
    assert len(json.loads((claims.DOCS / claims.DATA).read_text(encoding="utf-8"))) == len(names)
    for claim in WRITTEN["claims"]:
        assert claim["verdict"] in claims.VERDICTS
        assert NEEDED <= set(claim) <= {*NEEDED, "people", *claims.SETTINGS}, claim["id"]
        assert f"{claim['claim']} ({claim['where']})" in PAGES[claims.PAGE]


def test_all_that_is_asked_for_is_compared():
    """A number that no comparison names speaks neither for nor against a claim: few stand beside others."""
    for claim in WRITTEN["claims"]:
        for kind in claims.SETTINGS:
            asked = claim.get(kind, {})
            assert bool(asked.get("numbers")) == bool(asked.get("holds")), claim["id"]
            assert asked.get("numbers") or "open" in asked or not asked, claim["id"]


def test_studies_as_published_are_read_by_names_that_they_have():
    """Cells that nobody has run are missing, and so would be those whose name is wrong."""
    for claim in WRITTEN["claims"]:
        for address in claims.addresses(claim.get("theirs", {}), WRITTEN["tables"]).values():
            mark, row, column, *_ = address.split(" > ")
            kind, study, *parts = mark.split(" | ")
            plan = yaml.safe_load((claims.HERE / f"{study}.yaml").read_text(encoding="utf-8"))
            datasets, risks, metrics = (names(plan[of]) for of in ("datasets", "risks", "metrics"))
            match kind:
                case "curve" | "cards" | "correlations":
                    dataset, risk, metric = parts[0], parts[1], row.split(", at ")[0]
                    assert column in metrics or kind != "correlations", address
                case "noises":
                    dataset, risk, metric = parts[0], column, row
                case "figures":
                    dataset, risk, metric = column, row, metrics[0]
            assert dataset in datasets, address
            assert risk in risks, address
            assert metric in metrics, address


def names(items):
    return [item if isinstance(item, str) else item.get("label", item["name"]) for item in items]


def test_every_table_with_a_short_name_is_read():
    asked = [
        claim.get(kind, {}).get("numbers", {}) for claim in WRITTEN["claims"] for kind in claims.SETTINGS
    ]
    used = {address.partition(" > ")[0] for numbers in asked for address in numbers.values()}
    assert used == set(WRITTEN["tables"])


def test_three_numbers_decide_by_hand():
    page = claims.Numbers({"a.md": TABLE})
    tables = {"t": "curve | tiny | adult | leaky | seen"}

    def follows(numbers, *holds):
        return claims.verdict([claims.answer({"numbers": numbers, "holds": holds}, page, tables)])

    leak = {"leak": "t > gtcap > 100%", "seen": "t > gtcap > 100% > seen"}
    assert follows(leak, "leak > 0.9", "seen > 0.5") == "holds"
    assert follows(leak, "leak > 0.9", "seen > 0.7") == "holds in part"
    assert follows(leak, "leak < 0.9", "seen > 0.7") == "does not hold"
    assert follows({**leak, "gap": "t > distance > 100%"}, "leak > 0.9") == "open"
    assert follows({"low": "t > distance > 0%"}, "abs(low + 0.018) < 1e-9") == "holds"
    assert follows({"end": "t > change > 0% > last"}, "0.5 < end < 0.6") == "holds"
    assert follows({"percent": "t > change > 0% + 1"}, "percent * 2 > 113") == "holds"


def test_numbers_that_do_not_exist_are_refused():
    page = claims.Numbers({"a.md": TABLE})
    for address in ("curve | none > gtcap > 0%", "curve | tiny | adult | leaky | seen > gtcap > 50%"):
        with pytest.raises(ParameterError, match=r"No page has|has no cell"):
            page[address]
    with pytest.raises(ParameterError, match="in how many repeats"):
        page["curve | tiny | adult | leaky | seen > distance > 0% > seen"]


@pytest.mark.parametrize("condition", ["a", "b > 1", "a > print(1)", "a.real > 1", "a ** 2 > 1", "a is a"])
def test_a_condition_compares_numbers_and_does_nothing_else(condition):
    with pytest.raises(ParameterError, match="A condition must"):
        claims.met(condition, {"a": 1.0})


def test_a_claim_leads_to_a_heading():
    with pytest.raises(ParameterError, match="no heading"):
        claims._link({"id": "x", "link": "reproduction.md#nowhere"}, claims.Numbers(PAGES).titles)


@pytest.mark.parametrize("module", [claims, page_tables])
def test_examples_in_docstrings_hold(module):
    assert doctest.testmod(module).failed == 0
