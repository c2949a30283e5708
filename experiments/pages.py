"""Tables of the documentation, made from the stores of the experiments.

``python experiments/pages.py STORES`` looks through docs/*.md for marks such as

    <!-- table: curve | leaky | adult | leaky | spread -->
    <!-- end -->

and puts the table that is asked for between the two; the text around them is written by hand. STORES is a
folder with a store for each study, called as its file. What a study has no store for is left as it is. Then
figures are drawn anew from the tables, and verdicts on the papers' claims follow from them (claims.py).
"""

import json
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import fmean

import claims
import figures
import pipelines
import yaml

from tabveil.core.storage.files import write_text
from tabveil.core.wording import NOT_COMPUTED
from tabveil.errors import ParameterError
from tabveil.render.benchmark import markdown
from tabveil.workflows.benchmark import Store
from tabveil.workflows.benchmark.findings import find

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
MARK = re.compile(r"<!-- table: (.*?) -->\n.*?<!-- end -->", re.DOTALL)
WRITERS = {
    write.__name__: write
    for write in (markdown.seen, markdown.spread, markdown.largest, markdown.risk, markdown.attack)
}
LEAKS = {0.0: "no leak", 0.01: "1%", 0.02: "2%", 0.05: "5%", 0.1: "10%", 1.0: "100%"}


class Tables:
    """The tables that can be asked for, by name; arguments are texts."""

    def __init__(self, stores):
        self.stores = Path(stores)
        self.found = cache(lambda study: find(self.stores / study))
        self.papers = yaml.safe_load((HERE / "papers.yaml").read_text(encoding="utf-8"))

    def make(self, text):
        """Make what a mark asks for."""
        name, *given = (part.strip() for part in text.split("|"))
        return getattr(self, name)(*given)

    def curve(self, study, dataset, risk, write="seen", held=None):
        """Return what metrics say by level; levels and metrics of which nothing is known are left out."""
        made = markdown.curve_table(
            self.found(study), dataset, risk, write=WRITERS[write], held=None if held is None else float(held)
        )
        return _without_gaps(made)

    def cards(self, study, dataset, risk):
        """Return score cards."""
        return markdown.card_table(self.found(study), dataset, risk)

    def correlations(self, study, dataset, risk, after=""):
        """Return how alike those metrics answer that the papers have; ``after`` follows their names."""
        wanted = (dataset, risk)
        found = next(item for item in self.found(study).correlations if (item.dataset, item.risk) == wanted)
        asked = {f"{name}{after}" for name in self.papers["leaky"]}
        places = [place for place, name in enumerate(found.metrics) if name in asked]
        rows = [
            [markdown.code(found.metrics[row]), *(_correlation(found.values[row][place]) for place in places)]
            for row in places
        ]
        return markdown.table(["", *(markdown.code(found.metrics[place]) for place in places)], rows)

    def choices(self, study, dataset, risk):
        """Return which metrics to take."""
        return markdown.choices(self.found(study), dataset, risk)

    def noises(self, study, dataset, write="seen", level=None):
        """Return what metrics say of several risks at one level, side by side: theirs, or the one given."""
        found = self.found(study)
        wanted = None if level is None else float(level)
        by_risk = {}
        for curve in found.curves:
            levels = found.series(curve.risk).levels
            at = levels[0] if wanted is None and len(levels) == 1 else wanted
            point = next((point for point in curve.points if point.level == at), None)
            if point is not None and curve.dataset == dataset and curve.figure is None:
                by_risk.setdefault(curve.risk, {})[curve.metric] = WRITERS[write](point)
        metrics = [item.label for item in found.plan.metrics]
        rows = [[markdown.code(m), *(cells.get(m, "") for cells in by_risk.values())] for m in metrics]
        return _without_gaps(markdown.table(["metric", *map(markdown.plain, by_risk)], rows))

    def figures(self, study, figure, *datasets):
        """Return one figure of the utility by risk model and dataset."""
        found = self.found(study)
        cells = {
            (curve.risk, curve.dataset): f"{curve.points[0].mean.value:.3f}"
            for curve in found.curves
            if curve.figure == figure and curve.points and curve.points[0].mean is not None
        }
        rows = [
            [markdown.plain(item.label), *(cells.get((item.label, name), "") for name in datasets)]
            for item in found.plan.risks
        ]
        return markdown.table(["generator", *datasets], rows)

    def found_beyond(self, study, dataset, risk, level):
        """Return the share of members found beyond the share of others wrongly named, at few false alarms."""
        rates = {"10%": 0.1, "1%": 0.01, "0.1%": 0.001}
        cells = {
            (curve.metric, curve.figure): point.mean.value
            for curve in self.found(study).curves
            if (curve.dataset, curve.risk) == (dataset, risk)
            for point in curve.points
            if point.level == float(level) and point.mean is not None
        }
        rows = []
        for item in self.found(study).plan.metrics:
            found = [cells.get((item.label, f"found at {rate:.1%} false alarms")) for rate in rates.values()]
            if any(value is not None for value in found):
                beyond = zip(found, rates.values(), strict=True)
                shown = ["" if value is None else f"{value - rate:.3f}" for value, rate in beyond]
                rows.append([markdown.code(item.label), *shown])
        return markdown.table(["attack", *rates], rows)

    def draws(self, *studies):
        """Return in which share of draws each metric saw each leak: on each table, and on all."""
        shares, datasets = {}, []
        for study in studies:
            for curve in self.found(study).curves:
                for point in curve.points if curve.figure is None else ():
                    leak = f"{curve.risk}, {point.level:.1%}" if point.level else "no leak"
                    shares.setdefault(leak, {}).setdefault(curve.metric, {})[curve.dataset] = point.seen
                    datasets += [curve.dataset] if curve.dataset not in datasets else []
        metrics = [item.label for study in studies for item in self.found(study).plan.metrics]
        rows = [
            [markdown.code(metric), *(_drawn(seen.get(metric, {}), datasets) for seen in shares.values())]
            for metric in metrics
        ]
        return markdown.table(["attack", *shares], rows)

    def pipelines(self, study, by):
        """Return what releases of the hybrid pipeline betray and are worth, by one of its settings."""
        return pipelines.pipelines(self.stores / study, by)

    def improved(self, study):
        """Return how much better the hybrid pipeline is than its generator alone."""
        return pipelines.improved(self.stores / study)

    def covered(self, *studies):
        """Return how often intervals hold zero where nothing leaks, above or below it, and the mean."""
        records = {study: list(self._records(study)) for study in studies}
        metrics = [item.label for item in self.found(studies[0]).plan.metrics]
        rows = [
            [markdown.code(metric), *(cell for study in studies for cell in _covered(records[study], metric))]
            for metric in metrics
        ]
        head = ["covers zero", "above", "below", "mean"]
        again = [f"{name}, small control" for _ in studies[1:] for name in head]
        return markdown.table(["metric", *head, *again], rows)

    def _records(self, study):
        store = Store(self.stores / study)
        for place in store.plan().places:
            record = store.record(place)
            if record is not None and record.answer.measure is not None:
                yield place.metric, record.answer.measure

    def answered(self, *studies):
        """Return how much of each study was run: on whom, in how many repeats."""
        rows = []
        for study in studies:
            found = self.found(study)
            known = [
                point.mean.n for curve in found.curves for point in curve.points if point.mean is not None
            ]
            repeats = "none" if not known else "–".join(map(str, sorted({min(known), max(known)})))
            people = ", ".join(item.label for item in found.plan.datasets)
            rows_of = ", ".join(f"{item.train:,}" for item in found.plan.datasets)
            missing = sum(gap.n for gap in found.gaps if gap.kind == "not run")
            run = f"{found.n_cells - missing:,} of {found.n_cells:,}"
            rows.append([markdown.code(study), people, rows_of, f"{repeats} of {found.plan.repeats}", run])
        return markdown.table(["study", "table", "rows of train", "repeats", "answers"], rows)

    def beside(self, study, risk, *datasets):
        """Return both ends beside table 4.3, counted as the papers count, and by the headline."""
        found = self.found(study)
        rows = []
        for metric, published in self._published(study).items():
            cells = []
            for dataset in datasets:
                wanted = (dataset, risk, metric, None)
                curve = next((c for c in found.curves if _of(c) == wanted), None)
                cells += [_ends(published[dataset]), *_ours(curve)]
            rows.append([markdown.code(metric), *cells])
        head = [text for name in datasets for text in (f"{name}, papers", "as papers count", "headline")]
        return markdown.table(["metric", *head], rows)

    def _published(self, study):
        """Return the papers' numbers for a study, or for the one that it is a variant of."""
        return next(
            numbers for name, numbers in self.papers.items() if study == name or study.startswith(f"{name}_")
        )

    def seconds(self, study, *datasets):
        """Return CPU seconds beside table 4.4."""
        times = {(item.metric, item.dataset): item.mean for item in self.found(study).times}
        rows = []
        for metric, published in self.papers["seconds"].items():
            both = (_faster(published[name], times.get((metric, name))) for name in datasets)
            rows.append([markdown.code(metric), *(cell for cells in both for cell in cells)])
        head = [text for name in datasets for text in (f"{name}, papers", "here", "times as fast")]
        return markdown.table(["metric", *head], rows)

    def reached(self, study, risk, *datasets):
        """Return the ratios of overfitting that were reached, by level, smallest to largest."""
        store, ratios = Store(self.stores / study), {}
        for place in store.plan().places:
            record = store.record(place)
            if record is not None and place.risk == risk and "ratio" in record.answer.facts:
                ratios.setdefault((place.dataset, place.level), {})[place.repeat] = record.answer.facts
        levels = sorted({level for _, level in ratios})
        rows = [[name, *(_ratios(ratios.get((name, level), {})) for level in levels)] for name in datasets]
        return markdown.table(["dataset", *(f"{level:g}" for level in levels)], rows)


def _without_gaps(text):
    """Leave out columns and rows of a table in which no cell holds a number, and a table without any."""
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines()]
    if len(lines) < 3:  # noqa: PLR2004 - no table, or one without a row
        return text
    gap, (head, rule, *body) = {NOT_COMPUTED, ""}, lines
    known = [0] + [
        place for place in range(1, len(head)) if any(row[place].strip() not in gap for row in body)
    ]
    if len(known) == 1:
        return "Not run yet."
    rows = [row for row in body if any(cell.strip() not in gap for cell in row[1:])]
    return "\n".join("|" + "|".join(row[place] for place in known) + "|" for row in (head, rule, *rows))


def _drawn(seen, datasets):
    """Write the share of each table, and in bold that of all draws."""
    if not all(seen.get(dataset) for dataset in datasets):
        return ""
    shares = [seen[dataset].value for dataset in datasets]
    return f"{', '.join(f'{share:.2f}' for share in shares)}: **{fmean(shares):.2f}**"


def _correlation(value):
    return "" if value is None else f"{value:.2f}"


def _of(curve):
    return curve.dataset, curve.risk, curve.metric, curve.figure


def _ratios(by_repeat):
    if not by_repeat:
        return ""
    ratios = [facts["ratio"] for facts in by_repeat.values()]
    epochs = fmean(facts["epochs"] for facts in by_repeat.values())
    return f"{min(ratios):.2f} to {max(ratios):.2f} ({len(ratios)}; {epochs:.0f} epochs)"


def _covered(records, metric):
    found = [measure for name, measure in records if name == metric]
    above, below = sum(m.low > 0 for m in found), sum(m.high < 0 for m in found)
    mean = fmean(m.value for m in found) if found else float("nan")
    return [f"{len(found) - above - below} of {len(found)}", f"{above}", f"{below}", f"{mean:.4f}"]


def _ends(published):
    return f"{published[0]:.3f} → {published[1]:.3f}"


def _ours(curve: object) -> Iterable[str]:
    points = [] if curve is None else [point for point in curve.points if point.mean is not None]
    if len(points) < 2:  # noqa: PLR2004 - both ends
        return "", ""
    ends = points[0], points[-1]
    largest = " → ".join(f"{(end.largest or end.mean).value:.3f}" for end in ends)
    return largest, " → ".join(f"{end.mean.value:.3f}" for end in ends)


def _faster(published, ours):
    if ours is None:
        return f"{published:g}", "", ""
    times = published / max(ours, 0.01)
    return f"{published:g}", f"{ours:.2g}", f"{times:,.0f}" if times >= 1 else f"{times:.1g}"


def fill(page, tables):
    """Put tables where a page asks for them."""

    def put(match):
        try:
            made = tables.make(match[1])
        except ParameterError as error:
            print(f"{page.name}: {match[1]}: {error}", file=sys.stderr)
            return match[0]
        return f"<!-- table: {match[1]} -->\n\n{made}\n\n<!-- end -->"

    text = page.read_text(encoding="utf-8")
    filled = MARK.sub(put, text)
    if filled != text:
        write_text(page, filled)
        print(f"written: {page.name}", file=sys.stderr)


def write_leaks(tables):
    """Write what the metrics' own pages show of the power study."""
    try:
        found = tables.found("power")
    except ParameterError:
        return
    leaks = {}
    for curve in found.curves:
        if (curve.dataset, curve.risk, curve.figure) == ("adult", "leaky", None):
            leaks[curve.metric] = {
                LEAKS[point.level]: {"risk": point.mean.value, "detected": point.seen.value}
                for point in curve.points
                if point.mean is not None and point.seen is not None
            }
    write_text(DOCS / "power.json", json.dumps({"leaks": leaks}, indent=1) + "\n")


def main(argv=None):
    """Fill all pages from the stores in a folder."""
    arguments = sys.argv[1:] if argv is None else argv
    if len(arguments) != 1:
        sys.exit(__doc__)
    tables = Tables(arguments[0])
    for page in sorted(DOCS.glob("*.md")):
        fill(page, tables)
    write_leaks(tables)
    figures.write(DOCS)
    claims.write(DOCS)


if __name__ == "__main__":
    main()
