"""The step of ``action.yml``: run the audit, write the summary of the job, and say how the step ends.

Settings come in the environment, never in the text of a command, so that no name of a file can become one.
The exit code is 0 where the release is within its policy, 1 where it is above or (unless that only warns)
inconclusive, and the program's own where the audit did not run.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

VERDICTS = {0: "within", 1: "above", 3: "inconclusive"}
ABOVE, INCONCLUSIVE = 1, 3
BAD_INPUT = 2


def command(given: Mapping[str, str], page: Path, report: Path) -> list[str]:
    """Return the command line of the audit; a policy always judges, so that the code is a verdict."""
    accepted = (
        ["--policy", given["TABVEIL_POLICY"]] if given.get("TABVEIL_POLICY") else ["--fail-above", "0.05"]
    )
    return [
        *(sys.executable, "-m", "tabveil", "audit"),
        *("--train", given["TABVEIL_TRAIN"], "--synthetic", given["TABVEIL_SYNTHETIC"]),
        *("--control", given["TABVEIL_CONTROL"], *accepted),
        *("--html", str(page), "--json", str(report), "--force", "--quiet"),
        *shlex.split(given.get("TABVEIL_OPTIONS", "")),
    ]


def summary(report: Mapping[str, object]) -> str:
    """Write the verdict and a line a risk for the summary of the job; nothing in it is taken for markup."""
    verdict = report["verdict"]
    assert isinstance(verdict, dict)
    lines = ["## tabveil: " + _plain(verdict["state"]), "", _plain(verdict["sentence"]), ""]
    lines += ["| risk | of 100 people, at most | accepted | state |", "| --- | --- | --- | --- |"]
    for risk in verdict["risks"]:
        high = "not computed" if risk["high"] is None else f"{100 * risk['high']:.1f}"
        row = (risk["risk"], high, f"{100 * risk['threshold']:g}", risk["state"])
        lines.append("| " + " | ".join(map(_plain, row)) + " |")
    claim = report.get("claim")
    if isinstance(claim, dict):
        promise = claim["promise"]
        lines += [
            "",
            f"Stated ε = {promise['epsilon']:g}, δ = {promise['delta']:g}: {_plain(claim['state'])}.",
        ]
    return "\n".join([*lines, "", "The page to read and sign is in the artifact.", ""])


def _plain(text: object) -> str:
    """Write a text as itself: names of columns may hold what Markdown, HTML or a table would read as more."""
    kept = " ".join(str(text).split())
    return "".join(f"&#{ord(char)};" if char in "<>&|`*_[]()!#\\~$@" else char for char in kept)


def ending(code: int, inconclusive: str) -> tuple[int, str]:
    """Return how the step ends, and the line that the log shows for it."""
    if code == ABOVE:
        return 1, "::error title=tabveil::above threshold: do not release this table under this policy"
    if code == INCONCLUSIVE and inconclusive == "warn":
        return 0, "::warning title=tabveil::inconclusive: the audit could not tell"
    if code == INCONCLUSIVE:
        return 1, "::error title=tabveil::inconclusive: the audit could not tell, which is no yes"
    if code:
        return code, f"::error title=tabveil::the audit did not run (exit code {code})"
    return 0, "::notice title=tabveil::within threshold: ready for review"


def append(place: str | None, text: str) -> None:
    """Add to a file that the runner names, where it does."""
    if place:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(text)


def main(given: Mapping[str, str]) -> int:
    """Run the audit."""
    inconclusive = given.get("TABVEIL_INCONCLUSIVE", "fail")
    if inconclusive not in {"fail", "warn"}:
        print(f"::error title=tabveil::inconclusive must be fail or warn, got {_plain(inconclusive)}")
        return BAD_INPUT
    folder = Path(given.get("TABVEIL_FOLDER") or "tabveil-report")
    folder.mkdir(parents=True, exist_ok=True)
    page, report = folder / "report.html", folder / "report.json"
    for old in (page, report):
        old.unlink(missing_ok=True)  # of an earlier run, which must not be taken for this one's
    code = subprocess.run(command(given, page, report), check=False).returncode
    ran = code in VERDICTS and report.is_file()
    if ran:
        told = json.loads(report.read_text(encoding="utf-8"))
        append(given.get("GITHUB_STEP_SUMMARY"), summary(told))
        append(given.get("GITHUB_OUTPUT"), f"page={page}\nreport={report}\n")
    append(given.get("GITHUB_OUTPUT"), f"verdict={VERDICTS[code] if ran else 'none'}\n")
    status, line = ending(code, inconclusive)
    print(line)
    return status


if __name__ == "__main__":
    sys.exit(main(os.environ))
