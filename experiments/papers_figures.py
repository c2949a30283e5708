"""Figures of the page that stands beside the papers. Each comes with its title."""

import re
from dataclasses import replace

from drawings import Axes, Curve, Panel, around, curves, dots, reach
from page_tables import PEOPLE, SEEN, ends, row, spot

from tabveil.render.svg.canvas import percent_tick, tick

ALSO = ("membership_distance", "membership_calibrated")  # which the papers do not have
SHOWN = {
    "outlier_removal": ("membership_distance", "domias_kde", "identical_match_share", "distance_to_closest")
}
LEAKED, LOSS = "share of rows leaked", "validation loss, times its least"
ACROSS = {
    ("neighbors", "leaky"): LEAKED,
    ("size", "trees"): "released rows, times those of train",
    ("size", "leaky"): "released rows, times those of train",
    ("private", "aim"): "ε",
    ("outlier_removal", "trees"): "share of people removed",
    ("canaries", "canaries"): LEAKED,
}


def both_ends(tables, study, risk, *datasets):
    """Draw what the papers have without a leak and at a full one, and what is measured here."""
    cells = tables[f"beside | {study} | {risk} | {' | '.join(datasets)}"]
    series = ("papers", "as papers count", "headline")
    panels = []
    for place, dataset in enumerate(datasets):
        found = {line[0]: tuple(map(ends, line[1 + 3 * place : 4 + 3 * place])) for line in cells.lines}
        for end, name in enumerate(("no leak", "a leak of everything")):
            rows = tuple(row(metric, [each[end] for each in numbers]) for metric, numbers in found.items())
            panels.append(Panel(name=f"{PEOPLE[dataset]}, {name}", rows=rows))
    small = reach([each.value for panel in panels[::2] for each in panel.spots])
    panels[::2] = (replace(panel, ends=small) for panel in panels[::2])
    title = "Risk at both ends of table 4.3, papers and here"
    return title, dots(panels, series=series, title=title, across="risk (headline: gain)")


def rising(tables, study, dataset, *risks):
    """Draw what metrics say by level: a panel for each that the papers have, with the papers' ends."""
    found = {
        (risk, held): cells
        for risk in risks
        for held, cells in tables.under(f"curve | {study} | {dataset} | {risk} | seen").items()
    }
    published = _published(tables, study, risks[0], dataset)
    first = next(iter(found.values()))
    wanted = SHOWN.get(study, {*published, *ALSO} if published else {line[0] for line in first.lines})
    panels = {
        re.split(r", at | \(", name)[0]: [
            *(_curve(place, key, found, name, alone=not published) for place, key in enumerate(found)),
            *([_of_papers(published[name], first)] if name in published else []),
        ]
        for name in (line[0] for line in first.lines)
        if name in wanted
    }
    across = ACROSS.get((study.removesuffix(f"_{dataset}"), risks[0]), LOSS)
    title = f"{PEOPLE[dataset]}, {' and '.join(risks)}: what metrics say, by {across}"
    write = percent_tick if first.head[1].endswith("%") else tick
    upward = "gain (of indicators: risk)"
    axes = Axes(across=across, upward=upward, write=write)
    return title, curves(panels, title=title, axes=axes, told_apart=SEEN)


def _published(tables, study, risk, dataset):
    """Return the papers' numbers at both ends by metric; none where the page has none beside this study."""
    for rest, cells in tables.find(f"beside | {study} | {risk}").items():
        if dataset in rest.split(" | "):
            return cells.column(f"{dataset}, papers")
    return {}


def _curve(place, key, found, metric, *, alone):
    """Return what a metric says in one table, named after what tells that from others."""
    (risk, held), cells = key, found[key]
    label = f"ratio of losses {held}" if held else risk
    if len(found) == 1:
        label = "" if alone else "here"
    numbers = next((line[1:] for line in cells.lines if line[0] == metric), ("",) * len(cells.head[1:]))
    points = tuple(zip(map(_level, cells.head[1:]), map(spot, numbers), strict=True))
    return Curve(label=label, points=points, color=place)


def _of_papers(cell, cells):
    """Return the papers' numbers, of which only those at both ends are known."""
    levels = map(_level, (cells.head[1], cells.head[-1]))
    points = tuple(zip(levels, map(spot, ends(cell)), strict=True))
    return Curve(label="papers, both ends", points=points, color=1, dashed=True)


def _level(text):
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


def times(tables, study, *datasets):
    """Draw seconds beside table 4.4."""
    cells = tables[f"seconds | {study} | {' | '.join(datasets)}"]
    panels = [
        Panel(
            name=PEOPLE[dataset],
            rows=tuple(row(line[0], line[1 + 3 * place : 3 + 3 * place]) for line in cells.lines),
        )
        for place, dataset in enumerate(datasets)
    ]
    title = "Seconds of one answer, papers and here"
    across = "seconds, spread by logarithms"
    return title, dots(panels, series=("papers", "here"), title=title, across=across, bend="log")


def usefulness(tables, *studies):
    """Draw how useful releases of generators are, beside figure 4.9."""
    panels = []
    for figure, name in (
        ("discriminator", "how well told from real rows"),
        ("total_variation", "total variation"),
    ):
        rows = [
            row(line[0], line[1:])
            for study in studies
            for line in tables[f"figures | {study} | {figure} | adult"].lines
        ]
        panels.append(Panel(name=name, rows=tuple(rows), ends=around(rows)))
    title = "Adult: usefulness by generator, beside figure 4.9"
    return title, dots(panels, series=("mean of the repeats",), title=title, across="")
