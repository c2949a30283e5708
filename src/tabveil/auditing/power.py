"""Detection power: had this release leaked, would this audit have seen it?

Only people whom the generator never saw take part. Control is cut at random into two halves that are equally
strange to the release: one plays train, the other control. Whatever the release itself leaks, there is then
nothing to see, until copies of the first half are planted among synthetic rows. So every detection is owed to
a leak of known size, planted in the user's own data.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.auditing.detection import Detection, PlantedTrial, Power
from tabveil.auditing.steps import fits_a_model
from tabveil.core import check, workers
from tabveil.core.people import by_first_row
from tabveil.core.rng import stream
from tabveil.core.sampling import ROUNDING, count_share, exchanged, in_order
from tabveil.core.table import Categorical, Indices, Split, Table
from tabveil.engines.neighbors.shared import expect
from tabveil.errors import NotApplicable, NothingToAsk
from tabveil.protocols import Metric
from tabveil.synthesis.risks import Leaky

LEAKS = (0.01, 0.02, 0.05, 0.10, 0.20)
"""The planted leaks: which share of the release rows are copies of real people."""

REPETITIONS = 10
ENOUGH = 0.95
"""The share of the repetitions in which a leak must be seen: of ten, that is all of them."""

FEWEST_PEOPLE = 20
MOST_PEOPLE = 3000  # so the cost does not grow with the table
MOST_CELLS = 60_000  # nor with its width: some attacks try every column
LEARNERS_PART = 3  # fitting a model to each release takes far longer than all else: a third of the people
ASK_FOR_IT = "ask for it with --power"
MOST_CHARACTERS = 1_000_000  # of all people of a trial, for metrics that read what stands written about them
MOST_SYNTHETIC = 2  # release rows for each person: a release many times as large as train is thinned out


def measure(
    metrics: Sequence[tuple[str, Metric]],
    split: Split,
    *,
    rng: Generator,
    written: Split | None = None,
    repetitions: int = REPETITIONS,
    learners: bool = True,
) -> Power:
    """Find the smallest leak that each metric sees in nearly every release that has it.

    A leak is seen where the whole interval of the risk lies above zero. Leaks are tried from the smallest
    upward, so the answer assumes nothing about larger ones; a leak is given up as soon as it has been missed
    too often, and the one reported was tried in all repetitions. Every repetition draws other halves of
    control, other synthetic rows and other people to plant; a larger leak plants more people beside the same.

    Parameters
    ----------
    metrics
        Titles and metrics. Adding one changes no other's trials.
    split
        The tables of the audit. Train takes no part: only its size matters, for the proportions.
    written
        The words of these tables, for metrics that read them: a row that leaks carries its names and texts
        along, in those columns that the release has. None leaves such metrics out.
    repetitions
        How many releases are made for each leak.
    learners
        Whether metrics that fit a model to each release are tried, too: they take far longer than others.

    Raises
    ------
    NotApplicable
        If control has too few rows to be halved, or the release too few to hold a leak.
    """
    check.at_least("power", "repetitions", repetitions, 1)
    start = time.perf_counter()
    size = _Size.of(split)
    seed = int(rng.integers(2**63))
    pool = _Pool.of(split, seed=seed)
    watchers = [
        _Watcher(title=title, metric=metric, pool=pool, size=size.for_metric(metric, len(split.schema)))
        for title, metric in metrics
        if not metric.reads_words and (learners or not fits_a_model(metric))
    ]
    readers = [(title, metric) for title, metric in metrics if metric.reads_words and written is not None]
    if readers and written is not None:
        words, for_words = _Pool.of_words(written, seed=seed), size.for_words(written.control)
        watchers += [
            _Watcher(title=title, metric=metric, pool=words, size=for_words)
            for title, metric in readers
            if for_words.people
        ]
    for leak in LEAKS:
        _try_leak(leak, watchers, repetitions)
    workers.tell("done", 1.0)
    found = {watcher.title: watcher.detection() for watcher in watchers}
    silent = {watcher.title for watcher in watchers if watcher.has_nothing_to_ask}
    return Power(
        detections=tuple(
            found.get(title) or _untried(title, metric, size)
            for title, metric in metrics
            if title not in silent and (not metric.reads_words or written is not None)
        ),
        people=size.people,
        release_rows=size.release_rows,
        repetitions=repetitions,
        notes=_notes(split, size, watchers, repetitions),
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True, kw_only=True)
class _Size:
    """How large a trial is: rows that play train, as many that play control, and release rows."""

    people: int
    release_rows: int

    @classmethod
    def of(cls, split: Split) -> Self:
        """Shrink the audit in proportion, to halves of control, and to what can be afforded."""
        split.require_control("power", 2 * FEWEST_PEOPLE)
        n_train = split.train.n_people
        if n_train < FEWEST_PEOPLE:
            counted = "rows" if split.train.people is None else "people"
            raise NotApplicable(
                "power",
                f"needs at least {FEWEST_PEOPLE} train {counted}, got {n_train}: among so few "
                "people a leak cannot be told from chance.",
            )
        rows_each = len(split.train) / n_train
        affordable = max(int(_most_people(len(split.schema)) / rows_each), FEWEST_PEOPLE)
        people = min(split.control.n_people // 2, n_train, affordable)
        release_rows = min(
            len(split.synthetic) * people // n_train, int(MOST_SYNTHETIC * people * rows_each + ROUNDING)
        )
        size = cls(people=people, release_rows=release_rows)
        if not size.copies(LEAKS[-1]):
            raise NotApplicable(
                "power",
                f"for {people} people the release has {release_rows} rows in proportion, and "
                f"{LEAKS[-1]:.0%} of them are less than one row. More synthetic or control rows are needed.",
            )
        return size

    def for_metric(self, metric: Metric, n_columns: int) -> "_Size":
        """Return the size at which a metric can be tried often enough."""
        if not fits_a_model(metric):
            return self
        people = min(self.people, max(_most_people(n_columns) // LEARNERS_PART, FEWEST_PEOPLE))
        return _Size(people=people, release_rows=self.release_rows * people // self.people)

    def for_words(self, people: Table) -> "_Size":
        """Return the size at which all that stands written can be read often enough; of nobody if none is."""
        affordable = int(MOST_CHARACTERS // max(_characters(people), 1.0))
        if affordable < FEWEST_PEOPLE:
            return _Size(people=0, release_rows=0)
        people_read = min(self.people, affordable)
        return _Size(people=people_read, release_rows=self.release_rows * people_read // self.people)

    def copies(self, leak: float) -> int:
        """Count the rows that are planted in the release."""
        return count_share(leak, self.release_rows)


def _most_people(n_columns: int) -> int:
    """Return how many people can be afforded."""
    return min(MOST_PEOPLE, max(MOST_CELLS // n_columns, FEWEST_PEOPLE))


def _characters(table: Table) -> float:
    """Return how many characters stand in the rows of a person, on average."""
    total = 0.0
    for column in table.schema.columns:
        if isinstance(column, Categorical):
            codes = table.column(column.name)
            lengths = np.array([len(label) for label in column.labels], dtype=np.float64)
            total += float(lengths[codes[~np.isnan(codes)].astype(np.int64)].sum())
    return total / table.n_people


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pool:
    """The rows that trials are drawn from, in the order of their content."""

    control: Table
    synthetic: Table
    seed: int
    lacking: Indices | None = None  # positions of columns that the release does not have

    @classmethod
    def of(cls, split: Split, *, seed: int) -> Self:
        return cls(
            control=in_order(split.control).table, synthetic=in_order(split.synthetic).table, seed=seed
        )

    @classmethod
    def of_words(cls, split: Split, *, seed: int) -> Self:
        """Take the words of tables: a release that lacks a column cannot leak what stands in it."""
        lacking = np.flatnonzero(np.isnan(split.synthetic.values).all(axis=0))
        return replace(cls.of(split, seed=seed), lacking=lacking)

    def plant(self, leak: float, repetition: int, size: _Size) -> Split:
        """Make the tables of one trial; larger leaks of one repetition add to the smaller ones.

        They know no other labels than their own, as in an audit of them alone: learners are slower the more
        labels there could be.
        """
        rng = stream(self.seed, "tables", str(repetition))
        people = rng.choice(self.control.n_people, 2 * size.people, replace=False)
        rows = rng.choice(len(self.synthetic), size.release_rows, replace=False)
        train, control = self._rows_of(people[: size.people]), self._rows_of(people[size.people :])
        release = self.synthetic.take(rows)
        if release.linked is None:
            synthetic = Leaky()(train, release, leak, rng=rng)
        else:  # whole people, with all that is linked to them
            places = rng.permutation(len(release))[: size.copies(leak)]
            whose = np.resize(rng.permutation(len(train)), len(places))
            synthetic = exchanged(release, places, train.take(whose))
        if self.lacking is not None:
            values = synthetic.values.copy()
            values[:, self.lacking] = np.nan
            synthetic = Table(schema=synthetic.schema, values=values)
        return Split(train=train, control=control, synthetic=synthetic).with_own_labels()

    def _rows_of(self, people: Indices) -> Table:
        """Return all rows of some people, who are numbered in the order of their content."""
        if self.control.people is None:
            return self.control.take(people)
        chosen = np.zeros(self.control.n_people, dtype=bool)
        chosen[people] = True
        return self.control.take(np.flatnonzero(chosen[by_first_row(self.control.people)]))


@dataclass(kw_only=True, eq=False)
class _Watcher:
    """A metric on its way through the leaks, until it sees one often enough."""

    title: str
    metric: Metric
    pool: _Pool
    size: _Size
    trials: list[PlantedTrial] = field(default_factory=list)
    smallest: float | None = None
    share: float = 0.0  # of the way, if the leak being tried is the one it sees; never taken back
    answered: bool = False
    has_nothing_to_ask: bool = False
    refusal: str = "the metric gives no risk"

    @property
    def in_words(self) -> str:
        """The metric as a reader knows it."""
        return self.metric.title

    def open(self, leak: float) -> bool:
        """Tell whether the metric has still to be tried on this leak, and can be."""
        return self.smallest is None and not self.has_nothing_to_ask and self.size.copies(leak) > 0

    def sees(self, split: Split, *, rng: Generator) -> bool:
        """Ask the metric about one release; to have no answer is to see nothing."""
        try:
            with workers.working(listener=workers.unheard):
                measure = self.metric(split, rng=rng).measure
        except NotApplicable as refusal:
            self.refusal = str(refusal)
            silent = isinstance(refusal, NothingToAsk) and self.metric.reads_words
            self.has_nothing_to_ask = silent and not self.answered
            return False
        self.answered = self.answered or measure is not None
        return measure is not None and bool(measure.low > 0)

    def detection(self) -> Detection:
        """Say what was found out; a metric that never answered has no trials to show."""
        size = f"{self.size.people} people and {self.size.release_rows} synthetic rows"
        why = self.refusal if self.trials else f"{LEAKS[-1]:.0%} of the release are less than one row"
        return Detection(
            metric=self.title,
            smallest=self.smallest,
            trials=tuple(self.trials) if self.answered else (),
            people=self.size.people,
            reason=None if self.answered else f"No answer on trials of {size}: {why.rstrip('.')}.",
        )


def _untried(title: str, metric: Metric, size: _Size) -> Detection:
    why = f"Not tried, as it fits a model to every release, which takes long: {ASK_FOR_IT}."
    if metric.reads_words:
        why = "Not tried, as the texts are too long to be read again and again."
    return Detection(metric=title, smallest=None, trials=(), people=size.people, reason=why)


def _try_leak(leak: float, watchers: Sequence[_Watcher], repetitions: int) -> None:
    """Try one leak on all metrics that have seen no smaller one, repetition by repetition.

    They share the tables. A metric drops out once it has missed too often to see the leak often enough.
    """
    needed = math.ceil(ENOUGH * repetitions - ROUNDING)
    outcomes: list[tuple[_Watcher, list[bool]]] = [
        (watcher, []) for watcher in watchers if watcher.open(leak)
    ]
    lock = Lock()

    def ask(watcher: _Watcher, seen: list[bool], repetition: int, split: Split) -> None:
        with lock:  # several ask at the same time, and what is done never falls
            done = sum(each.share for each in watchers) / len(watchers)
            workers.tell(f"planting {leak:.0%}, {repetition + 1} of {repetitions}: {watcher.title}", done)
        rng = stream(watcher.pool.seed, "metric", watcher.title, str(leak), str(repetition))
        seen.append(watcher.sees(split, rng=rng))
        watcher.share = max(watcher.share, len(seen) / repetitions)

    for repetition in range(repetitions):
        running = [(watcher, seen) for watcher, seen in outcomes if seen.count(False) <= repetitions - needed]
        tables = {
            (pool, size): pool.plant(leak, repetition, size)
            for pool, size in dict.fromkeys((watcher.pool, watcher.size) for watcher, _ in running)
        }
        for drawn, split in tables.items():
            asking = [watcher.metric for watcher, _ in running if (watcher.pool, watcher.size) == drawn]
            expect(search for metric in asking for search in metric.searches(split))
        workers.side_by_side(
            [
                partial(ask, watcher, seen, repetition, tables[watcher.pool, watcher.size])
                for watcher, seen in running
            ]
        )
    for watcher, seen in outcomes:
        watcher.trials.append(PlantedTrial(leak=leak, seen=sum(seen), of=len(seen)))
        if sum(seen) >= needed:
            watcher.smallest = leak


def _notes(split: Split, size: _Size, watchers: Sequence[_Watcher], repetitions: int) -> tuple[str, ...]:
    """Say how the trials were made, and where they are smaller or coarser than the audit."""
    counted, whole = ("rows", "") if split.train.people is None else ("people", ", each with all rows")
    how = (
        f"Each trial, of up to {repetitions}, takes {size.people:,} control {counted} as people of the "
        f"release, {size.people:,} others as people it never saw, and {size.release_rows:,} synthetic rows, "
        f"a known share of them replaced by copies of the people{whole}. Most metrics see smaller leaks the "
        "more rows there are, so this audit, which has more, should see at least as much."
    )
    blurred = "The planted rows are exact copies: leaked rows that a generator has blurred are harder to see."
    notes = [how, blurred]
    if len(split.synthetic) > MOST_SYNTHETIC * len(split.train):
        notes.append(
            f"The release has more than {MOST_SYNTHETIC} rows for each train row, the trials have no more."
        )
    if coarse := [f"{leak:.0%}" for leak in LEAKS if not size.copies(leak)]:
        notes.append(
            f"Not tried: a leak of {' or '.join(coarse)}, which is less than one of {size.release_rows} "
            "synthetic rows."
        )
    return (*notes, *_exceptions(size, watchers))


def _exceptions(size: _Size, watchers: Sequence[_Watcher]) -> list[str]:
    """Name the metrics for which something else holds than for all others."""
    notes = []
    told = [watcher for watcher in watchers if not watcher.has_nothing_to_ask]
    for reading, why in (
        (False, "because a model is fitted to every release"),
        (True, "because all their words are read"),
    ):
        these = [watcher for watcher in told if watcher.metric.reads_words == reading]
        for fewer in sorted({watcher.size.people for watcher in these} - {size.people}):
            titles = ", ".join(watcher.in_words for watcher in these if watcher.size.people == fewer)
            notes.append(f"Tried on {fewer:,} people, {why}: {titles}.")
    if weaker := [watcher.in_words for watcher in watchers if watcher.metric.weaker_when_larger]:
        notes.append(
            "Sees less in larger tables where the release is unlike the real rows, so the figure holds for "
            f"the trials only: {', '.join(weaker)}."
        )
    return notes
