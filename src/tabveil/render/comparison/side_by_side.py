"""Several reports side by side in Python: to print, to compute with, to store as a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import takewhile
from pathlib import Path

from rich.console import Console

from tabveil.auditing import comparing
from tabveil.auditing.policy import RISKS
from tabveil.auditing.report import Report
from tabveil.core.storage.files import write_text
from tabveil.core.wording import escaped, name
from tabveil.errors import ParameterError
from tabveil.render.comparison.page import page
from tabveil.render.comparison.terminal import ranking
from tabveil.tables.reading import dataframes

_WIDTH = 100

ReportSource = Report | str | Path


def compare(reports: Mapping[str, ReportSource] | Sequence[ReportSource]) -> "ComparedReports":
    """Set several reports side by side, those of most concern first.

    Parameters
    ----------
    reports
        Reports, or paths of the JSON files that audits wrote: by the names to show them under, or one after
        the other. Then a file is called by its name, with folders where it takes them to tell files apart,
        and a report by its title, or by its place where it has none.
    """
    named = reports if isinstance(reports, Mapping) else _named(reports)
    if not named:
        raise ParameterError("compare", "there is no report to compare.")
    return ComparedReports(
        reports={key: item if isinstance(item, Report) else Report.read(item) for key, item in named.items()}
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedReports:
    """Reports by name; printed, they stand in an order of concern, which is not a score."""

    reports: Mapping[str, Report]

    @property
    def warnings(self) -> list[str]:
        """What makes these reports hard to compare, such as other training rows."""
        return comparing.warnings(self.reports)

    def to_frame(self) -> dataframes.DataFrame:
        """Return one row a release, the largest concern first.

        Each risk is the upper bound it is judged by; the figures of utility are those of the page.
        """
        return dataframes.from_rows(_cells(row) for row in comparing.compare(self.reports))

    def to_html(self, path: str | Path) -> None:
        """Write the page that ``tabveil compare --html`` writes, whole or not at all."""
        write_text(Path(path), page(self.reports))

    def _repr_html_(self) -> str:
        """Show the comparison in a notebook."""
        return dataframes.to_html([self.to_frame(), dataframes.from_columns({"warnings": self.warnings})])

    def __repr__(self) -> str:
        """Say what the terminal says."""
        text = StringIO()
        screen = Console(file=text, width=_WIDTH, color_system=None, markup=False, emoji=False)
        screen.print(ranking(self.reports))
        return "\n".join(line.rstrip() for line in escaped(text.getvalue()).rstrip().splitlines())


def _cells(row: comparing.ComparedRelease) -> dict[str, object]:
    bounds = {risk.risk: risk.high for risk in row.risks if risk.high is not None}
    figures = dict(zip(comparing.FIGURES, row.figures, strict=True))
    return {
        "release": row.name,
        "verdict": row.report.verdict.state,
        **{risk: bounds.get(risk, float("nan")) for risk in RISKS},
        **{key: figure.value.value if figure else float("nan") for key, figure in figures.items()},
    }


def _named(reports: Sequence[ReportSource]) -> dict[str, ReportSource]:
    """Name reports by their titles, and files by what tells them apart."""
    paths = [Path(item) for item in reports if not isinstance(item, Report)]
    of_files = iter(_distinct_names(paths))
    names = [
        (item.title or f"release {place}") if isinstance(item, Report) else next(of_files)
        for place, item in enumerate(reports, start=1)
    ]
    _refuse_twice(names)
    return dict(zip(names, reports, strict=True))


def _distinct_names(paths: Sequence[Path]) -> list[str]:
    """Name reports by their file, and where files are called alike by the folders that tell them apart."""
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        places = [path.with_suffix("").parts for path in paths]
        steps = zip(*(place[:-1] for place in places), strict=False)
        shared = sum(1 for _ in takewhile(lambda step: len(set(step)) == 1, steps))
        names = [str(Path(*place[shared:])) for place in places]
    _refuse_twice(names)
    return names


def _refuse_twice(names: Sequence[str]) -> None:
    for each in names:
        if names.count(each) > 1:
            raise ParameterError("compare", f"{name(each)} is named twice.")
