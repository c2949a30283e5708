"""What somebody who owns the generator finds, on a terminal."""

from io import StringIO

import pytest
from rich.console import Console

from tabveil.core.estimate import Estimate
from tabveil.render.black_box import AttackRows, GeneratorAccess, GroupRow, TargetRow, access_text


def group(label, *readings):
    rate = Estimate(value=0.655, low=0.4, high=0.8, n=30)
    found = tuple((name, rate if there else None) for name, there in readings)
    return GroupRow(
        label=label, found=Estimate(value=0.9, low=0.7, high=1.0, n=30), readings=found, seen="1 of 2"
    )


@pytest.mark.parametrize("few", [0, 1])
def test_a_rate_that_too_few_fits_can_tell_leaves_its_cell_empty(few):
    groups = [
        group("many fits", ("1%", False), ("10%", True)),
        group("few fits", ("1%", False), ("10%", False)),
    ]
    item = AttackRows(
        title="Membership",
        question="Was the target there?",
        measured="AUC",
        chance="0.5",
        sentence="Nobody was told.",
        groups=tuple(groups if few else groups[::-1]),
        targets=(),
    )
    found = GeneratorAccess(
        sentence="It was fitted.", settings="", attacks=(item,), notes=(), confidence=0.95
    )
    console = Console(file=StringIO(), width=80)
    console.print(access_text(found))
    lines = console.file.getvalue().splitlines()
    heading = next(line for line in lines if "at 10%" in line)
    assert "at 1%" not in heading
    shown = {
        name: next(line for line in lines if line.startswith(name)) for name in ("many fits", "few fits")
    }
    end = heading.index("at 10%") + len("at 10%")
    assert shown["many fits"][:end].endswith("0.655")
    assert shown["few fits"][heading.index("at 10%") : end].strip() == ""
    assert shown["few fits"].endswith("1 of 2")


@pytest.mark.parametrize("measured", ["AUC", "guessed right"])
def test_the_legend_explains_every_heading_that_is_shown_and_no_other(measured):
    item = AttackRows(
        title="Membership",
        question="Was the target there?",
        measured=measured,
        chance="0.5",
        sentence="Nobody was told.",
        groups=(group("many fits", ("1%", False), ("10%", True)),),
        targets=(
            TargetRow(
                label="target 1",
                rank="1 of 90",
                group="at random",
                found=Estimate(value=0.9, low=0.7, high=1.0, n=30),
                told="yes",
            ),
        ),
    )
    console = Console(file=StringIO(), width=80)
    found = GeneratorAccess(
        sentence="It was fitted.", settings="", attacks=(item,), notes=(), confidence=0.95
    )
    console.print(access_text(found))
    lines = console.file.getvalue().splitlines()
    explained = {line.partition(":")[0] for line in lines if ": " in line and "(chance" not in line}
    assert explained == {measured, "told", "vulnerability rank", "at 10%"}
    headings = " ".join(line for line in lines if line.startswith(("targets ", "the most exposed ")))
    assert all(heading in headings for heading in explained)
