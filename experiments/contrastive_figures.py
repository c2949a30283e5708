"""Figures of the page on the contrastive space. Each comes with its title."""

import re

from drawings import Axes, Curve, Panel, Row, Spot, around, curves, dots
from page_tables import PEOPLE, SEEN, row, spot

SPACES = {
    "": "outside the space",
    "contrastive": "in the contrastive space",
    "both spaces": "in both together",
}
PANELS = {"membership": "membership_calibrated"}  # what sees in both spaces is calibrated
NOISES = ("no noise", "σ", "λ", "p", "σ, λ", "σ, p", "λ, p", "σ, λ, p")
FIRST = ("singling_out", "distance_to_closest")  # side by side, as the thesis has them in one figure
THESIS = {"singling_out": "3.4", "distance_to_closest": "3.4", "linkability": "3.6", "inference": "3.7"}
_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)"
_SECONDS = {
    "papers": rf"{_NUMBER}.*",
    "here": rf"(?:{_NUMBER} to )?{_NUMBER}.*",
    "here, on one CPU core": rf".*on one CPU core {_NUMBER}",
    "here, by the mixed distance": rf".*\((?:by the mixed distance )?{_NUMBER}\)",
}


def noises(tables, study, dataset):
    """Draw what attacks see in a full copy behind noise, by space."""
    published = {name: number for name, number in THESIS.items() if dataset == "adult" or name in FIRST}
    return _by_space(
        tables[f"noises | {study} | {dataset}"],
        NOISES,
        title=f"{PEOPLE[dataset]}: a full copy behind noise of 0.05, by form of noise",
        names={name: f"{name}, beside figure {number}" for name, number in published.items()},
    )


def generators(tables, study, dataset):
    """Draw what attacks see in releases of generators, by space."""
    cells = tables[f"noises | {study} | {dataset}"]
    return _by_space(cells, cells.head[1:], title=f"{PEOPLE[dataset]}: releases of generators", names={})


def _by_space(cells, settings, *, title, names):
    """Draw a panel for each attack: a row for each setting, a mark for each space."""
    attacks = {name: {} for name in FIRST}
    for label in cells.column(settings[0]):
        attack, _, space = label.partition(", ")
        attacks.setdefault(PANELS.get(attack, attack), {})[space] = label
    columns = {setting: cells.column(setting) for setting in settings}
    panels = tuple(
        Panel(
            name=names.get(attack, attack),
            rows=tuple(
                row(setting, [column.get(spaces.get(space)) for space in SPACES])
                for setting, column in columns.items()
            ),
        )
        for attack, spaces in attacks.items()
        if spaces
    )
    return title, dots(
        panels,
        series=tuple(SPACES.values()),
        title=title,
        across="gain (of distance_to_closest: risk)",
        told_apart=SEEN,
    )


def leaks(tables, study, dataset, risk):
    """Draw what attacks see at each level of a risk, by space."""
    cells = tables[f"curve | {study} | {dataset} | {risk} | seen"]
    labels = {}
    for label in cells.column(cells.head[1]):
        attack, _, space = label.rpartition(", ")
        if not attack or space == "mixed":
            attack, space = attack or label, ""
        labels.setdefault(PANELS.get(attack, attack), {})[space] = label
    panels = []
    for level in cells.head[1:]:
        column = cells.column(level)
        rows = tuple(
            row(attack, [column.get(spaces.get(space)) for space in SPACES])
            for attack, spaces in labels.items()
        )
        panels.append(Panel(name=f"at {level.replace('%', ' %')}", rows=rows))
    title = f"{PEOPLE[dataset]}, {risk}: what attacks see, by space"
    return title, dots(
        panels,
        series=tuple(SPACES.values()),
        title=title,
        across="gain (of distance_to_closest: risk)",
        told_apart=SEEN,
    )


def found(tables, *given):
    """Draw how many members are found at few false alarms; studies and datasets by turns."""
    panels = []
    for study, dataset in zip(given[::2], given[1::2], strict=True):
        for address, cells in tables.under(f"found_beyond | {study} | {dataset}").items():
            rows = tuple(
                row(re.sub(r"^membership(_|, )", "", name), numbers) for name, *numbers in cells.lines
            )
            panels.append(Panel(name=f"{PEOPLE[dataset]}, {address.split(' | ')[0]}", rows=rows))
            rates = cells.head[1:]
    title = "Members found by membership attacks, at few false alarms"
    return title, dots(
        panels,
        series=tuple(f"at {rate.replace('%', ' %')} false alarms" for rate in rates),
        title=title,
        across="share of members found, less the share of others wrongly named",
    )


def sweep(tables, study, dataset):
    """Draw what settings of the embedding change; attacks with the same settings stand in one panel."""
    cells = tables[f"noises | {study} | {dataset}"]
    answers = {}
    for label, number in cells.column(cells.head[1]).items():
        attack, _, setting = label.partition(", ")
        answers.setdefault(attack, {})[setting] = number
    attacks = tuple(answers)
    panels = []
    for settings in dict.fromkeys(map(tuple, answers.values())):
        shown = [attack for attack in attacks if tuple(answers[attack]) == settings]
        rows = tuple(
            row(setting, [answers[each][setting] if each in shown else None for each in attacks])
            for setting in settings
        )
        usual = next(each.spots for each in rows if each.label == "default")
        beside = tuple(None if each is None else each.value for each in usual)
        panels.append(Panel(name=" and ".join(shown), rows=rows, beside=beside, ends=around(rows)))
    title = f"{PEOPLE[dataset]}: a full copy {cells.head[1]}, one setting changed at a time"
    return title, dots(
        panels,
        series=attacks,
        title=title,
        across="gain",
        columns=1,
        told_apart=SEEN,
        beside="dotted: the default",
    )


def seconds(tables):
    """Draw seconds beside the papers'; of a range, the longer."""
    rows = tuple(
        Row(
            label=name,
            spots=tuple(seconds_of(papers if who == "papers" else here, who) for who in _SECONDS),
        )
        for name, papers, here in tables["seconds"].lines
    )
    title = "Seconds, papers and here"
    return title, dots(
        [Panel(name="", rows=rows)],
        series=tuple(_SECONDS),
        title=title,
        across="seconds, spread by logarithms",
        columns=1,
        bend="log",
    )


def seconds_of(cell, who):
    """Read the seconds of somebody out of a cell; None where it has none.

    >>> seconds_of("0.5 to 0.7; on one CPU core 21", "here")
    Spot(value=0.7, sure=True)
    """
    match = re.fullmatch(_SECONDS[who], cell)
    return None if match is None else Spot(value=float(match[match.lastindex].replace(",", "")))


def scaling(tables):
    """Draw how seconds grow with rows, beside the papers'."""
    cells = tables["scaling"]
    sizes = [spot(size).value for size in cells.head[1:]]
    kinds = ("singling out", "in the space", "training")
    drawn = [
        Curve(
            label=name,
            points=tuple(zip(sizes, map(spot, numbers), strict=True)),
            color=next(place for place, kind in enumerate(kinds) if name.startswith(kind)),
            dashed=", papers" in name,
        )
        for name, *numbers in cells.lines
    ]
    title = "Seconds of singling out on the census, by rows"
    axes = Axes(across="rows", upward="seconds, spread by logarithms", bend="log", high=240.0, columns=1)
    return title, curves({"": drawn}, title=title, axes=axes)
