"""What the page of troubleshooting quotes is what the program says."""

import ast
import re

import pytest
from supplies.page_commands import run
from supplies.places import ROOT

from tabveil.auditing import verdict
from tabveil.datasets import hospital

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"^- `(.+?)`\n\n    \S", PAGE, flags=re.MULTILINE)
OF_A_LIBRARY = {"No such option: …"}
GAP = "\0"


def written(node):
    """A text of the source as it will be said, with gaps for what is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(written(part) or GAP for part in parts)
    return ""


@pytest.fixture(scope="module")
def said():
    files = sorted((ROOT / "src" / "tabveil").rglob("*.py"))
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    return "\n".join({written(node) for node in nodes if isinstance(node, ast.Constant | ast.JoinedStr)})


def fixed(message):
    """The parts of a message that are always the same; single signs beside a gap say nothing."""
    return [part for part in (part.strip(" .,;:'\"") for part in message.split("…")) if len(part) > 1]


@pytest.mark.parametrize("message", [message for message in QUOTED if message not in OF_A_LIBRARY])
def test_every_quoted_message_stands_in_the_source(message, said):
    parts = fixed(message)
    assert parts != []
    assert [part for part in parts if part not in said] == []


def test_every_entry_quotes_a_message_and_says_what_to_do():
    assert len(QUOTED) == PAGE.count("\n- ") == PAGE.count(" **Do:** ")


def test_reasons_met_most_are_there():
    reasons = (verdict.TOO_FEW, verdict.SIZE_UNCLEAR, verdict.COULD_NOT_SEE, verdict.NOT_RUN, verdict.NO_RISK)
    assert {*reasons, verdict.REPEATED, verdict.HIDDEN} <= set(QUOTED)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--control nobody.csv", "there is no file nobody.csv."),
        ("--json train.csv", "train.csv is also used for something else; choose another name."),
        ("--json folder/found.json", "there is no folder folder."),
        ("--fail-above 5", "must be above 0 and at most 1, got 5."),
        ("--secrets agee", "no column 'agee'. Did you mean 'age'?"),
        ("--nonsense", "No such option: --nonsense"),
        ("--delta 1e-5", "split and delta are about a stated ε: name it, too (claimed_epsilon)."),
    ],
)
def test_what_is_printed_begins_as_the_page_says(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hospital(50, seed=1).to_csv("train.csv", index=False)
    with pytest.raises(AssertionError, match="tabveil: ") as ended:
        run(f"tabveil audit --train train.csv --synthetic train.csv {options}")
    assert message in str(ended.value)
    assert any(all(part in message for part in fixed(quoted)) for quoted in QUOTED)
