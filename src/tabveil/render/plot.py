"""One chart by itself, for notebooks and files: the drawing of a page with its colors in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from markupsafe import Markup

from tabveil.core.check import quoted, shown
from tabveil.core.storage.files import write_text
from tabveil.core.wording import escaped
from tabveil.errors import ParameterError
from tabveil.render.svg import standalone

MOST_OFFERED = 24
"""Names that an error lists."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A chart that a notebook shows, and that can be saved as an SVG file."""

    name: str
    svg: str

    def __repr__(self) -> str:
        """Say what it is: the drawing itself is long."""
        return escaped(f"Plot of {self.name!r}; a notebook shows it, save('FILE.svg') writes it")

    def _repr_svg_(self) -> str:
        """Show the chart in a notebook."""
        return self.svg

    def _repr_html_(self) -> str:
        """Show the chart in a notebook that prefers HTML, as wide as a page shows it."""
        return f'<div style="max-width:35rem">{self.svg}</div>'

    def save(self, path: str | Path) -> None:
        """Write the chart as an SVG file, whole or not at all."""
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise ParameterError("plot", f"the name must end in .svg, got {shown(target.name)}.")
        write_text(target, self.svg)


def plotted(
    figure: str, charts: Mapping[str, Callable[[], Markup]], numbered: Mapping[str, Sequence[str]]
) -> Plot:
    """Draw the chart of this name, or say which there are; ``numbered`` has the names of rows of some."""
    if figure not in charts:
        close = get_close_matches(figure, charts, n=1)
        offered = ", ".join(map(shown, list(charts)[:MOST_OFFERED]))
        more = f" and {len(charts) - MOST_OFFERED} more" if len(charts) > MOST_OFFERED else ""
        meant = f"Did you mean {quoted(close[0])}? " if close else ""
        raise ParameterError(
            "plot", f"no figure {quoted(figure)}.", hint=f"{meant}There are: {offered}{more}."
        )
    return Plot(name=figure, svg=standalone(charts[figure](), numbered.get(figure, ())))
