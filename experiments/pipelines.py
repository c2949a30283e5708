"""Tables of the hybrid pipeline's study: what releases betray and are worth, by setting of the pipeline."""

import re
from pathlib import Path
from statistics import fmean, stdev

from tabveil.render.benchmark import markdown
from tabveil.workflows.benchmark import Store

ALONE = "generator alone"
LABEL = re.compile(r"k=(?P<k>\d+) β=(?P<beta>\S+)(?: (?P<how>random|stratified|local))? (?P<transition>\S+)")
RISKS = {
    "singling_out": "singling out",
    "linkability": "linkability",
    "inference": "inference",
    "membership_distance": "membership",
}
FIGURES = {
    "discriminator": "discriminator",
    "total_variation": "total variation",
    "wasserstein": "Wasserstein",
}


def pipelines(folder, by):
    """Return a table of a study: a line for each release, or for each ``k``, ``sampling`` or ``transition``.

    A risk is the largest over all configurations of its attack, as the papers count, and in parentheses the
    share of releases in which the attack sees something.
    """
    groups = {}
    for label, release in read(folder).items():
        name = group(label, by)
        if name is not None:
            groups.setdefault(name, []).extend(release.values())
    head = ["" if by == "all" else by, "releases", *RISKS.values(), *FIGURES.values()]
    return markdown.table(head, [[markdown.plain(name), *line(found)] for name, found in groups.items()])


def improved(folder):
    """Return by how much each pipeline is better than its generator alone, in percent, as the thesis counts.

    The mean over repeats and the standard deviation between them; less risk and smaller distances are
    positive. Where the attack does not see the generator alone in every repeat, a ratio would be one of two
    chances, and is left out.
    """
    releases = read(folder)
    alone, rows = releases[ALONE], []
    names = RISKS | FIGURES
    for label, found in releases.items():
        if label == ALONE:
            continue
        both = [(alone[repeat], release) for repeat, release in found.items() if repeat in alone]
        cells = [
            change([(before[name], after[name]) for before, after in both])
            if name in FIGURES or all(before[f"{name} seen"] for before, _ in both)
            else "–"
            for name in names
        ]
        rows.append([markdown.plain(label), *cells])
    return markdown.table(["pipeline", *names.values()], rows)


def read(folder):
    """Return the numbers of a store by release and repeat: risks, whether they were seen, and utility."""
    store, found = Store(Path(folder)), {}
    for place in store.plan().places:
        record = store.record(place)
        if record is None:
            continue
        label = f"{place.risk} {place.level:g}" if place.risk == "real" else place.risk
        numbers = found.setdefault(label, {}).setdefault(place.repeat, {})
        if place.metric in RISKS:
            numbers[place.metric] = record.answer.largest
            numbers[f"{place.metric} seen"] = record.answer.seen
        else:
            numbers.update(record.answer.figures)
    whole = {*RISKS, *FIGURES}
    return {
        label: {repeat: numbers for repeat, numbers in repeats.items() if whole <= set(numbers)}
        for label, repeats in found.items()
    }


def group(label, by):
    """Return what a release is counted among; None if it has no such setting."""
    if by == "all" or label == ALONE:
        return label
    said = LABEL.fullmatch(label)
    if said is None or (by != "transition" and said["how"] == "local"):
        return None
    if by == "sampling":
        return f"β = {said['beta']}" + (f", {said['how']}" if said["how"] else "")
    if by == "k":
        return f"k = {said['k']}"
    return said["transition"] + (", local" if said["how"] == "local" else "")


def line(found):
    """Return the cells of a line."""
    risks = [
        f"{fmean(item[name] for item in found):.3f} ({fmean(item[f'{name} seen'] for item in found):.2f})"
        for name in RISKS
    ]
    return [f"{len(found)}", *risks, *(f"{fmean(item[name] for item in found):.3f}" for name in FIGURES)]


def change(pairs):
    """Write the mean improvement in percent, and how it spreads."""
    changes = [100 * (before - after) / before for before, after in pairs]
    spread = f" ± {stdev(changes):.0f}" if len(changes) > 1 else ""
    return f"{fmean(changes):+.0f}{spread} %"
