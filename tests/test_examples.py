"""The scripts under examples/ run, on a few simulated people."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
FEW = ["--hospital", "--rows", "60", "--metric", "identical_match_share", "--metric", "distance_to_closest"]


@pytest.fixture(scope="module")
def leaky_adult():
    return runpy.run_path(str(EXAMPLES / "leaky_adult.py"))


def test_a_known_leak_is_read_off_the_table(leaky_adult, capsys):
    leaky_adult["main"]([*FEW, "--seeds", "2"])
    told = capsys.readouterr()
    (row,) = re.findall(r"\| `identical_match_share` \|(.*)\|", told.out)
    risks = [float(cell.split("±")[0]) for cell in row.split("|")[:6]]
    assert risks == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1], abs=0.02)
    assert told.err.count("\n") == 12  # a line for each seed and level, as they are done


def test_what_was_written_about_differences_is_kept(leaky_adult, tmp_path):
    page = tmp_path / "page.md"
    leaky_adult["main"]([*FEW, "--seeds", "1", "--out", str(page)])
    written = page.read_text(encoding="utf-8")
    assert leaky_adult["DIFFERENCES"] in written
    page.write_text(written + "Because of ties.\n", encoding="utf-8")
    leaky_adult["main"]([*FEW, "--seeds", "1", "--out", str(page)])
    assert page.read_text(encoding="utf-8") == written + "Because of ties.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_numbers_of_the_papers_stand_beside_names_that_exist(leaky_adult):
    row = leaky_adult["table"](
        {"linkability": {level: [level] for level in leaky_adult["LEVELS"]}}, papers=leaky_adult["PAPERS"]
    ).splitlines()[-1]
    assert row.endswith("| 1.000 | 0.0015 | 0.643 |")


def test_people_who_are_not_there_are_said_to_be_missing(leaky_adult, tmp_path):
    with pytest.raises(SystemExit, match=r"Skipped: there is no adult\.parquet\. Say --data"):
        leaky_adult["main"](["--data", str(tmp_path / "adult.parquet")])
    with pytest.raises(SystemExit):
        leaky_adult["main"](["--hospital", "--data", "adult.parquet"])
