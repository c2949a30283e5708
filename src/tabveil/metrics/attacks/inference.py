"""Attribute inference: does the release betray what somebody who knows the rest does not know?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.estimate import Estimate, strongest
from tabveil.core.findings import ColumnRisk, Configuration, Setting
from tabveil.core.result import Cost, Labels, Result, Threat
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.table import Column, Floats, Indices, Numeric, Split, Table
from tabveil.engines.representation import Contrastive, VectorView
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks import calibrated
from tabveil.metrics.attacks.attack import (
    OF_OTHERS,
    TOLERANCE,
    ZERO_TOLERANCE,
    NearestRowAttack,
    Truth,
    guessed,
    known_of_others,
    secret_threat,
)
from tabveil.metrics.attacks.guessing import Bools, Guesses, Lookups, look_up, nearness, scores
from tabveil.metrics.attacks.ml_inference import LabelModel, NumberModel
from tabveil.protocols import Representation, View

Sides = tuple[Floats, Floats]
"""A cell for each train row (n,), and for each control row (m,)."""


@takes_presets
@dataclass(frozen=True, kw_only=True)
class Inference(NearestRowAttack):
    """Can somebody who knows the rest of a person's data infer the value they do not know?

    The attacker knows a person's values in some columns, looks up the nearest synthetic row (Gower's
    distance; equally near rows at random) and guesses that the secret value is that row's. A category must be
    met exactly, a number within a tolerance. People whose secret is missing have none to infer and are not
    attacked; how often missing is guessed as missing stands in the details. By default every column is the
    secret once and all others are known: the worst case.

    A careful attacker acts only on sure guesses: at the level of 10 %, say, a guess succeeds if it is right
    and as sure as the surest 10 % of those about control rows. A guess is surer the nearer the row is, and
    among equally near ones the rarer the person is.

    Parameters
    ----------
    secrets
        The columns to infer; None tries every column.
    known
        The columns the attacker knows; None means all but the secret.
    tolerance
        How near a guessed number must be to the truth, as a share of its true size.
    zero_tolerance
        The same as a share of the column's range, where the size says nothing: a true value of 0, or a date.
    careful
        Whether success is also counted among the surest guesses alone; without, only among all, as in the
        literature.
    preset
        ``"papers"`` takes what the papers used: every column as the secret, all guesses
        of 2,000 attacks.
    n_attacks, representation
    calibrated
        Whether guesses are also ranked by how near the row is for somebody with so many other people around,
        and all configurations are tested together by dealing labels anew. Takes several times as long.

    Notes
    -----
    ``attack`` is the share of training people whose secret is guessed right, ``control`` the same for people
    never seen, ``baseline`` the exact chance that a value drawn from the synthetic column is right. ``risk =
    (attack - control) / (1 - control)``: 0 where the release tells no more about training people than about
    others, 1 where it tells the secret of all of them. What holds for the whole population is in ``control``,
    too, and so is no risk.

    ``columns`` has each secret's strongest configuration. Scores of single rows are the share of secrets
    guessed right, those guessed from far off counting less. The headline is the configuration with the
    largest lower bound of its gain, among intervals that hold for all of them together (Šidák); each is in
    ``details``.

    With ``calibrated``, training and control rows are pooled and guesses are ranked blind to who is who: by
    distance (of equals, those farthest from their five nearest other people first), and by what least squares
    on the distances to other people leave of its logarithm. A level is then a share of all guesses: the first
    5, 6, 7, 9, … of them, down to a tenth, and all. The intervals hold together by 999 deals of the labels.

    References
    ----------
    - Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnádi, B. (2023). A Unified Framework for Quantifying
      Privacy Risk in Synthetic Data. Proceedings on Privacy Enhancing Technologies.
    """

    secrets: tuple[str, ...] | None = None
    known: tuple[str, ...] | None = None
    tolerance: float = TOLERANCE
    zero_tolerance: float = ZERO_TOLERANCE
    n_attacks: int | None = None
    calibrated: bool = False
    careful: bool = True

    presets: ClassVar[Presets] = {"papers": {"n_attacks": 2000, "careful": False}}
    name: ClassVar[str] = "inference"
    title: ClassVar[str] = "Inference from the nearest row"
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="inference", mechanism="distance", auxiliary=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("Inference", "tolerance", self.tolerance, 0)
        check.at_least("Inference", "zero_tolerance", self.zero_tolerance, 0)
        for name in ("secrets", "known"):
            columns = getattr(self, name)
            if columns is not None and not 0 < len(columns) == len(set(columns)):
                raise ParameterError("Inference", f"{name} must name at least one column, and none twice.")

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack train and control rows alike."""
        known = self._known(split.train)
        if self.calibrated:
            split.require_control(self.name)
        trials = calibrated.GuessTrials.on(
            split, self.n_attacks, calibrated=self.calibrated, careful=self.careful, rng=rng
        )
        targets, attacked = trials.targets, trials.attacked
        secrets = [secret for secret in known if not _is_constant(targets, secret)]
        if not secrets:
            raise NotApplicable(self.name, "every secret column is constant, so there is nothing to infer.")
        missing: dict[str, dict[str, int]] = {}
        sums = tuple(np.zeros(len(side)) for side in attacked)
        view = trials.view(self.representation, rng=rng)
        for secret, looked_up in look_up(targets, view, {name: known[name] for name in secrets}, rng=rng):
            present = tuple(~np.isnan(side.table.column(secret)) for side in attacked)
            ways = self._ways(targets, view, secret, known[secret], looked_up)
            judged = {label: self._judge(targets, secret, looked_up, cells) for label, cells in ways.items()}
            others = trials.crowding(view, known[secret])
            for label, made in judged.items():
                trials.add(Setting(label=label, target=secret), made, others, (present[0], present[1]))
            guesses = next(iter(judged.values()))
            if not (present[0].all() and present[1].all()):
                missing[secret] = _missing(guesses, present)
            for total, side in zip(sums, guesses, strict=True):
                np.add(total, nearness(side), out=total)
        best = trials.headline(self.confidence, rng=rng)
        linked = split.train.linked is not None and self.known is None
        skipped = ", ".join(sorted(set(known) - set(secrets)))
        note = f"Not attacked, being constant or empty in the real or the synthetic rows: {skipped}."
        return best.answer(
            self,
            columns=by_column(best.configurations),
            details={"missing": missing} if missing else {},
            notes=(*((note,) if skipped else ()), *((OF_OTHERS,) if linked else ())),
            scores=scores(attacked, (sums[0] / len(secrets), sums[1] / len(secrets))),
        )

    def sentence(self, result: Result) -> str:
        """Tell how often the secret was guessed."""
        return guessed(result)

    def threat(self, result: Result) -> Threat:  # noqa: ARG002 - every column is tried alike
        """Describe the attacker."""
        return secret_threat(self.known, self.secrets, "each column in turn")

    def _known(self, table: Table) -> dict[str, tuple[str, ...]]:
        """Return the secrets, by name, and what is known for each: the order of columns must not matter."""
        names = tuple(sorted(table.schema.names))
        secrets, known = self.secrets or names, self.known or ()
        check.known_names("Inference", "column", secrets + known, names)
        if len(names) < 2:  # noqa: PLR2004 - one secret, one known
            raise NotApplicable(self.name, f"needs at least two columns, got {len(names)}.")
        rest = {
            secret: tuple(name for name in known or sorted(known_of_others(secret, table)) if name != secret)
            for secret in sorted(secrets)
        }
        for secret, others in rest.items():
            if not others:
                raise ParameterError("Inference", f"nothing is known that {secret!r} could be inferred from.")
        return rest

    def _ways(
        self,
        targets: Split,
        view: View,  # noqa: ARG002 - the rows that were looked up are all that is needed
        secret: str,
        known: Sequence[str],  # noqa: ARG002 - likewise
        looked_up: Lookups,
    ) -> Mapping[str, Sides]:
        """Guess the secret of every train and control row, in one way or several, each with its label.

        The guess is the secret of the nearest synthetic row. Rows are scored by the first way.
        """
        pool = targets.synthetic.column(secret)[looked_up.order]
        return {secret: (pool[looked_up.index[0]], pool[looked_up.index[1]])}

    def _judge(
        self, targets: Split, secret: str, looked_up: Lookups, guessed: Sides
    ) -> tuple[Guesses, Guesses]:
        pool = targets.synthetic.column(secret)

        def judge(side: int, cells: Floats) -> Guesses:
            truth = Truth.of(cells, targets.schema[secret], self.tolerance, self.zero_tolerance)
            return Guesses(
                correct=truth.met_by(guessed[side]),
                naive=truth.chance(pool),
                confidence=looked_up.confidence[side],
                rarity=looked_up.rarity[side],
                missing=np.isnan(guessed[side]),
                people=(targets.train, targets.control)[side].people,
            )

        return judge(0, targets.train.column(secret)), judge(1, targets.control.column(secret))


def _missing(guesses: tuple[Guesses, Guesses], present: Sequence[Bools]) -> dict[str, int]:
    """Count the people whose secret is missing in all of their rows, and for how many missing was guessed."""
    counts = {}
    for role, made, there in zip(("train", "control"), guesses, present, strict=True):
        has_one = there if made.people is None else np.isin(made.people, made.people[there])
        without = made.take(~has_one).of_people()
        counts[f"n_{role}"] = len(without.correct)
        if without.missing is not None:
            counts[f"guessed_{role}"] = int(np.sum(without.missing))
    return counts


def _is_constant(targets: Split, secret: str) -> bool:
    """Tell whether nothing is or can be inferred.

    All real rows or all synthetic ones have one value; or no train row, or no control row, has any.
    """
    train, control, synthetic = (
        cells[~np.isnan(cells)]
        for cells in (table.column(secret) for table in (targets.train, targets.control, targets.synthetic))
    )
    if len(train) == 0 or len(control) == 0 < len(targets.control):
        return True
    return min(len(np.unique(np.concatenate([train, control]))), len(np.unique(synthetic))) <= 1


def by_column(configurations: Iterable[Configuration]) -> tuple[ColumnRisk, ...]:
    """Return each target's configuration with the largest lower bound."""
    found: dict[str, dict[Configuration, Estimate]] = {}
    for item in configurations:
        gain = item.gain or item.attack
        if item.setting.target and gain:
            found.setdefault(item.setting.target, {})[item] = gain
    best = {column: strongest(gains) for column, gains in found.items()}
    return tuple(
        ColumnRisk(column=column, configuration=item.name, risk=item.risk, gain=item.gain, attack=item.attack)
        for column, item in best.items()
    )


@takes_presets
@dataclass(frozen=True, kw_only=True)
class InferenceContrastive(Inference):
    """Can somebody with a learned sense of nearness infer what they do not know of a person?

    The attacker looks up the synthetic row that is nearest to the person in a contrastive embedding of the
    release, the secret masked in both. Its secret is the first candidate. The second is what a model (XGBoost
    with its default parameters, trained on the release) predicts from that row's other values. The candidate
    wins that fits the person better: its own embedding, all columns but the secret masked, has the larger dot
    product with that of the person, the secret masked. The first candidate alone competes as a configuration
    of its own.

    A careful attacker acts only on sure guesses: at the level of 10 %, say, a guess succeeds if it is right
    and as sure as the surest 10 % of those about control rows. A guess is surer the nearer the row is.

    Parameters
    ----------
    secrets, known
    most_labels
        Secrets with more labels in the release have no second candidate: the model grows a tree for each
        label and round.
    tolerance, zero_tolerance, n_attacks, careful
    preset
        ``"papers"`` takes what the papers used: as in ``inference``, in the papers' embedding.
    representation
        What is called near: the distance in an embedding that is trained on the release.
    calibrated
        Whether guesses are also ranked by how near the rows are for somebody with so many other people
        around, and all configurations are tested together by dealing labels anew.

    Notes
    -----
    ``attack`` is the share of training people whose secret is guessed right, ``control`` the same for people
    never seen, ``baseline`` the exact chance that a value drawn from the synthetic column is right. ``risk =
    (attack - control) / (1 - control)``: 0 where the release tells no more about training people than about
    others, 1 where it tells the secret of all of them. People whose secret is missing have none to infer and
    are not attacked.

    ``columns`` has each secret's strongest configuration. The headline is the configuration with the largest
    lower bound of its gain, among intervals that hold for all of them together (Šidák); each is in
    ``details``.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Contrastive Learning-Based Privacy Metrics in Tabular Synthetic
      Datasets. arXiv:2502.13833.
    """

    most_labels: int = 20
    representation: Representation = field(default_factory=Contrastive)

    presets: ClassVar[Presets] = {
        "papers": {**Inference.presets["papers"], "representation": Contrastive(preset="paper")}
    }
    name: ClassVar[str] = "inference_contrastive"
    title: ClassVar[str] = "Inference, contrastive"
    cost: ClassVar[Cost] = "slow"
    extra: ClassVar[str] = "deep"
    on_request: ClassVar[bool] = True
    beside: ClassVar[tuple[str, ...]] = ("inference",)

    def _ways(
        self, targets: Split, view: View, secret: str, known: Sequence[str], looked_up: Lookups
    ) -> Mapping[str, Sides]:
        """Guess what the nearest row says, and whatever fits better of that and a model's prediction."""
        if not isinstance(view, VectorView) or looked_up.seen is None:
            such = "such as tabveil.engines.representation.Contrastive()"
            why = f"representation must place rows as vectors, {such}, got {self.representation!r}."
            raise ParameterError(type(self).__name__, why)
        column, rows = targets.schema[secret], targets.synthetic
        own = rows.column(secret)
        of_neighbor = [looked_up.order[index] for index in looked_up.index]  # (n,) each, a synthetic row
        nearest = own[of_neighbor[0]], own[of_neighbor[1]]
        if not isinstance(column, Numeric) and len(np.unique(own)) > self.most_labels:
            return {secret: nearest}
        candidates = Candidates.of(view, rows, secret, own, predict(rows, column, tuple(known)))
        people = looked_up.seen.train, looked_up.seen.control
        train, control = (
            candidates.better(person.values, neighbor)
            for person, neighbor in zip(people, of_neighbor, strict=True)
        )
        return {secret: nearest, f"{secret}, or a model": (train, control)}


def predict(table: Table, column: Column, known: tuple[str, ...]) -> Floats:
    """Return what a model, trained on all rows of a table, predicts for each of them, (n,)."""
    rows = table.select(known)
    if isinstance(column, Numeric):
        guess = NumberModel.fit(table, column, known).guess(rows)
        return np.clip(guess, column.low, column.high)
    return LabelModel.fit(table, column.name, known).guess(rows, table.column(column.name)).label


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """What each synthetic row would say the secret is: its own value, and what a model predicts for it."""

    own: Floats  # (n,)
    predicted: Floats  # (n,)
    vectors: Floats  # (v, m) of all different values
    which: Indices  # (2, n) the vector of each value

    @classmethod
    def of(cls, view: View, rows: Table, secret: str, own: Floats, predicted: Floats) -> Self:
        """Embed every different value once, all columns but the secret masked."""
        distinct, which = np.unique(np.concatenate([own, predicted]), return_inverse=True)
        cells = np.repeat(rows.values[:1], len(distinct), axis=0)  # whose other values nobody sees
        cells[:, rows.schema.position(secret)] = distinct
        vectors = view.see(Table(schema=rows.schema, values=cells), (secret,)).values
        return cls(own=own, predicted=predicted, vectors=vectors, which=which.reshape(2, len(own)))

    def better(self, people: Floats, neighbor: Indices) -> Floats:
        """Return the candidate of each person's neighbor whose vector is more like the person's (k, m).

        Of equals it is the neighbor's own value.
        """
        own, predicted = ((people * self.vectors[which[neighbor]]).sum(axis=1) for which in self.which)
        return np.where(own >= predicted, self.own[neighbor], self.predicted[neighbor])
