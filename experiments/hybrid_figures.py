"""Figures of the page on the hybrid pipeline. Each comes with its title."""

from drawings import Cloud, Panel, Point, around, clouds, dots
from page_tables import row, spot

RISKS = ("singling out", "linkability", "inference", "membership")
USE = "discriminator"
ALONE = "generator alone"
STAGES = {
    "real": "real rows",
    "single": "anonymized, single",
    "uniform": "anonymized, uniform",
    "conditional": "anonymized, conditional",
    "aim": "AIM",
}
_SEEN = "hollow: seen in fewer than 95 % of releases"
_USE = "how well rows are told from real ones (0.5: not at all)"


def stages(tables, study):
    """Draw what rows betray and are worth before any generator sees them."""
    cells = tables[f"pipelines | {study} | all"]
    kinds = {
        line[0]: next(place for place, stage in enumerate(STAGES) if stage in line[0]) for line in cells.lines
    }
    title = "Risk against use: real rows, anonymized rows, and AIM"
    return title, clouds(
        _clouds([(cells, kinds)]), series=tuple(STAGES.values()), title=title, across=_USE, told_apart=_SEEN
    )


def tradeoff(tables, *studies):
    """Draw what pipelines betray and are worth, by generator."""
    drawn = []
    for place, study in enumerate(studies):
        cells = tables[f"pipelines | {study} | all"]
        drawn.append((cells, {line[0]: place for line in cells.lines}))
    title = "Risk against use of pipelines, by generator"
    return title, clouds(
        _clouds(drawn),
        series=tuple(study.partition("/")[2].replace("_", " ") for study in studies),
        title=title,
        across=_USE,
        told_apart=_SEEN,
        ringed="the generator alone",
    )


def _clouds(drawn):
    """Return a cloud for each risk; ``drawn`` are tables, and the series that each of their lines is of."""
    points = {risk: [] for risk in RISKS}
    for cells, kinds in drawn:
        use = cells.column(USE)
        for risk in RISKS:
            for name, cell in cells.column(risk).items():
                x, y = spot(use[name]), spot(cell)
                if x is not None and y is not None:
                    ringed = name == ALONE
                    points[risk].append(Point(series=kinds[name], x=x.value, y=y, ringed=ringed))
    return tuple(Cloud(name=f"risk of {risk}", points=tuple(found)) for risk, found in points.items())


def settings(tables, study, by):
    """Draw what one setting of the pipeline changes: the risks on one side, the use on the other."""
    cells = tables[f"pipelines | {study} | {by}"]
    columns = {name: cells.column(name) for name in (*RISKS, USE)}
    names = [line[0] for line in cells.lines]
    risks = tuple(row(name, [*(columns[risk][name] for risk in RISKS), None]) for name in names)
    use = tuple(row(name, [*(None for _ in RISKS), columns[USE][name]]) for name in names)
    title = f"Risk and use of pipelines, by {by}"
    return title, dots(
        [
            Panel(name="risk, largest configuration", rows=risks),
            Panel(name="use", rows=use, ends=around(use)),
        ],
        series=(*RISKS, _USE),
        title=title,
        across="",
        told_apart=_SEEN,
    )
