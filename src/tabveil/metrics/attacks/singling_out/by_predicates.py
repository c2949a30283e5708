"""Singling out: descriptions read off the release that fit exactly one real person."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.findings import Setting
from tabveil.core.result import Cost
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.table import Indices, Split
from tabveil.engines.neighbors import local_outlier_factors
from tabveil.engines.representation import Contrastive
from tabveil.metrics.attacks.attack import NearestRowAttack
from tabveil.metrics.attacks.singling_out.descriptions import DescriptionAttack, Descriptions, rows_a_person
from tabveil.metrics.attacks.singling_out.predicates import (
    Form,
    Predicates,
    around_rows,
    bins,
    draw_isolating,
    draw_naive,
    half_lines,
    univariate,
    windows,
)
from tabveil.protocols import Representation
from tabveil.tables.matrices.ranked_tables import RankedTable

USUAL = 1.5
"""The largest local outlier factor of a row that is no outlier, where no share is asked for."""


@takes_presets
@dataclass(frozen=True, kw_only=True)
class SinglingOut(DescriptionAttack):
    """Can someone write down a description, from the release alone, that fits exactly one real person?

    A person is singled out by a description that fits them and nobody else of all real people. Two kinds of
    descriptions are judged. *Window*: around every synthetic row, categories equal and numbers within some
    ranks of the row's value. *Sets of columns*: values that stand together in a released row, in each column
    by itself and in hundreds of sets of them; where these see something, the set that shows it is named.

    Beside them stand the literature's descriptions, which must fit exactly one synthetic row. *Univariate*: a
    value that occurs once in its column, the smallest, the largest, or the only missing one. *n columns*:
    taken from a random row and random columns; categories must be equal, numbers at least as large (above the
    column's median) or at most as large. They are counted as descriptions, and nothing is judged by them
    unless there are no others.

    Parameters
    ----------
    n_attacks
        The number of guesses of each of the literature's configurations.
    n_columns
        On how many columns to guess, as far as there are so many.
    n_windows
        The most synthetic rows to place windows around; where there are more, a sample, and people are
        estimated over all rows.
    column_sets
        Whether to look at sets of columns.
    window_columns
        On how many columns, besides all of them, to place windows.
    widths
        How far a window reaches both ways, in shares of the column's distinct synthetic values.
    deduplicate
        Drop equal rows of train and control first, as Anonymeter does.
    preset
        ``"papers"`` takes what the papers used: descriptions of one column and of 3 to 12, 2,000 of each, no
        windows and no sets of columns.

    Notes
    -----
    ``attack`` is the share of training people who are singled out, ``control`` that of control people, and
    the gain is the difference. Nobody counts twice, and who is singled out does not depend on who was trained
    on: so where nothing leaks, the gain is zero on average at any sizes of the tables, and its test exact.
    ``baseline`` is the share of training people whom descriptions of the same form single out that are put
    together from single values instead of rows.

    ``risk`` is the literature's, of descriptions: with the rates at which they fit exactly one person of
    train, and of control, ``(train - control) / (1 - control)``. Tables of different sizes are compared at
    the smaller size, as shares of what a copy of the training rows would reach; guesses that point at the
    same person do not count as many.

    For windows, equal synthetic rows are one: whoever is released twice is described all the same. Real rows
    are not de-duplicated: two people who are equal are not singled out. The headline is the configuration
    with the largest lower bound of its gain, among intervals that hold for all of them together (Šidák); each
    is in ``details``. The scan over sets of columns is one test, corrected for all sets tried (Tarone 1990),
    beside that of all other configurations.

    References
    ----------
    - Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnádi, B. (2023). A Unified Framework for Quantifying
      Privacy Risk in Synthetic Data. Proceedings on Privacy Enhancing Technologies.
    - Cohen, A. and Nissim, K. (2020). Towards Formalizing the GDPR's Notion of Singling Out. Proceedings of
      the National Academy of Sciences.
    - Tarone, R. E. (1990). A Modified Bonferroni Method for Discrete Data. Biometrics.
    """

    n_attacks: int = 2000
    n_windows: int = 50_000
    column_sets: bool = True
    window_columns: tuple[int, ...] = (8, 12)
    widths: tuple[float, ...] = (0.005, 0.02, 0.1)

    presets: ClassVar[Presets] = {
        "papers": {
            "n_attacks": 2000,
            "n_columns": tuple(range(3, 13)),
            "widths": (),
            "column_sets": False,
            "deduplicate": True,
        }
    }
    name: ClassVar[str] = "singling_out"
    title: ClassVar[str] = "Singling out"
    cell_bytes: ClassVar[float] = 48.0
    by_equality: ClassVar[bool] = True  # sees values that are equal, and should see them as they are given

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("SinglingOut", "n_windows", self.n_windows, 1)
        for n_columns in self.window_columns:
            check.at_least("SinglingOut", "number of columns", n_columns, 1)
        for width in self.widths:
            check.at_least("SinglingOut", "width", width, 0)

    def judged_part(self) -> Self:
        """Return the attack without the literature's descriptions: what is judged, at half the cost."""
        return replace(self, n_columns=()) if self.widths or self.column_sets else self

    def _guesses(
        self, tables: Split, synthetic: RankedTable, different: RankedTable, *, rng: Generator
    ) -> Iterator[Descriptions]:
        lines, d = half_lines(synthetic), synthetic.n_columns
        most = rows_a_person(tables)

        def beside_naive(
            setting: Setting, guesses: Predicates, form: Form, tried: float | None = None
        ) -> Descriptions:
            naive = draw_naive(synthetic, form, guesses.columns.shape[1], len(guesses), rng=rng)
            return Descriptions(setting=setting, guesses=guesses, naive=naive, tried=tried)

        alone = univariate(synthetic, self.n_attacks, rng=rng, most=most)
        yield beside_naive(Setting(label="univariate"), alone, lines)
        # Where even the smallest number of columns is too many, all columns.
        for n in [n for n in self.n_columns if n <= d] or ([d] if self.n_columns and d > 1 else []):
            guesses = draw_isolating(synthetic, lines, n, self.n_attacks, rng=rng, most=most)
            yield beside_naive(Setting(label=f"{n} columns", n_columns=n), guesses, lines)
        seen: list[Form] = []
        tried = min(self.n_windows / len(different), 1.0)
        for width in self.widths:
            form = windows(different, width)
            if any(form.equals(earlier) for earlier in seen):  # too few values to tell the widths apart
                continue
            seen.append(form)
            for n in sorted({*(n for n in self.window_columns if n < d), d}):
                where = "all columns" if n == d else f"{n} columns"
                placed = rng.permutation(len(different))[: self.n_windows]
                guesses = around_rows(different, form, n, placed, rng=rng, most=most)
                setting = Setting(label=f"window {width:.3g}, {where}", n_columns=n, width=width)
                yield beside_naive(setting, guesses, form, tried)

    def _notes(self, tables: Split) -> tuple[str, ...]:
        notes = super()._notes(tables)
        if len(tables.synthetic) > self.n_windows and self.widths:
            placed = f"{self.n_windows:,} of up to {len(tables.synthetic):,} different synthetic rows"
            notes += (f"Windows were placed around {placed}; people are estimated over all of them.",)
        return notes


@takes_presets
@dataclass(frozen=True, kw_only=True)
class SinglingOutContrastive(DescriptionAttack, NearestRowAttack):
    """Do descriptions of unusual synthetic rows fit exactly one real person?

    Unusual people are the easiest to recognize. Which synthetic rows are unusual is looked up in a
    contrastive embedding of the release: those that stand apart from the rows around them, by the local
    outlier factor. Each is described by some of its columns: categories must be equal, numbers in the same
    bin, missing values missing. Descriptions that fit exactly one synthetic row single out the person whom
    they fit, if they fit nobody else of all real people.

    Parameters
    ----------
    n_attacks
        The most rows that are described, the most unusual first; None describes all that are unusual.
    n_columns
        On how many columns, besides all of them, to guess.
    n_bins
        Into how many equally wide bins the range of a number is cut.
    contamination
        The share of synthetic rows that counts as unusual; 1 describes all. ``"auto"`` takes rows with a
        factor above 1.5, whatever their share, as the papers' library does.
    n_neighbors
        How many rows around it a row is compared with.
    deduplicate
        Drop equal rows of train and control first, as Anonymeter does.
    preset
        ``"papers"`` takes what the papers used: 2,000 of the rows that the local outlier factor calls
        outliers in the papers' embedding, in 3 to 12 columns.
    representation
        Where rows stand apart: in an embedding, or by Gower's or the Euclidean distance.

    Notes
    -----
    ``attack`` is the share of training people who are singled out, ``control`` that of control people, and
    the gain the difference; ``baseline`` and ``risk`` are as in ``singling_out``. No more people can be
    singled out than rows are described: a contamination of 0.1 sees no more than a tenth of a leak. The
    headline is the configuration with the largest lower bound of its gain, among intervals that hold for all
    of them together (Šidák); each is in ``details``.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Contrastive Learning-Based Privacy Metrics in Tabular Synthetic
      Datasets. arXiv:2502.13833.
    - Breunig, M. M., Kriegel, H.-P., Ng, R. T. and Sander, J. (2000). LOF: Identifying Density-Based Local
      Outliers. SIGMOD.
    """

    n_attacks: int | None = None
    n_columns: tuple[int, ...] = (4, 8, 12)
    n_bins: int = 20
    contamination: float | Literal["auto"] = 1.0
    n_neighbors: int = 20
    representation: Representation = field(default_factory=Contrastive)

    presets: ClassVar[Presets] = {
        "papers": {
            "n_attacks": 2000,
            "n_columns": tuple(range(3, 13)),
            "contamination": "auto",
            "deduplicate": True,
            "representation": Contrastive(preset="paper"),
        }
    }
    name: ClassVar[str] = "singling_out_contrastive"
    title: ClassVar[str] = "Singling out, contrastive"
    cost: ClassVar[Cost] = "slow"
    extra: ClassVar[str] = "deep"
    on_request: ClassVar[bool] = True
    beside: ClassVar[tuple[str, ...]] = ("singling_out",)

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        check.at_least(owner, "n_bins", self.n_bins, 1)
        check.at_least(owner, "n_neighbors", self.n_neighbors, 1)
        if self.contamination != "auto":
            check.positive_share(owner, "contamination", self.contamination)

    def _guesses(
        self,
        tables: Split,
        synthetic: RankedTable,
        different: RankedTable,  # noqa: ARG002 - rows that stand apart have no equals
        *,
        rng: Generator,
    ) -> Iterator[Descriptions]:
        unusual, form = self._unusual(tables, rng=rng)[: self.n_attacks], bins(synthetic, self.n_bins)
        d, most = synthetic.n_columns, rows_a_person(tables)
        for n in sorted({*(n for n in self.n_columns if n < d), d}):
            guesses = around_rows(synthetic, form, n, unusual, rng=rng, most=most)
            naive = draw_naive(synthetic, form, n, len(guesses), rng=rng)
            where = "all columns" if n == d else f"{n} columns"
            setting = Setting(label=f"outliers, {where}", n_columns=n)
            yield Descriptions(setting=setting, guesses=guesses, naive=naive, tried=1.0)

    def _unusual(self, tables: Split, *, rng: Generator) -> Indices:
        """Return the synthetic rows that stand apart, the most unusual first."""
        view, names = self.representation.view(tables, rng=rng), tables.schema.names
        factors = local_outlier_factors(
            view.space(names), view.see(tables.synthetic, names), n_neighbors=self.n_neighbors
        )
        if self.contamination == "auto":
            n_unusual = int((factors > USUAL).sum())
        else:
            n_unusual = int(np.ceil(round(self.contamination * len(factors), 9)))  # 0.1 * 30 is more than 3
        return np.argsort(-factors, kind="stable")[:n_unusual]
