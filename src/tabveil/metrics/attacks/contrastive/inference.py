"""Attribute inference in the contrastive space: two candidates for a secret, and the one that fits better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from tabveil.core.result import Cost
from tabveil.core.table import Column, Floats, Indices, Numeric, Split, Table
from tabveil.engines.representation import Contrastive, VectorView
from tabveil.errors import ParameterError
from tabveil.metrics.attacks.inference import Inference, Sides
from tabveil.metrics.attacks.look_up import LookedUp
from tabveil.metrics.attacks.ml_inference.models import LabelModel, NumberModel
from tabveil.protocols import Representation, View


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
    secrets
        The columns to infer; None tries every column.
    known
        The columns the attacker knows; None means all but the secret.
    most_labels
        Secrets with more labels in the release have no second candidate: the model grows a tree for each
        label and round.
    tolerance
        How near a guessed number must be to the truth, as a share of its true size.
    zero_tolerance
        The same as a share of the column's range, where the size says nothing: a true value of 0, or a date.
    n_attacks
        How many training rows, and as many control rows, are attacked; None attacks all.
    representation
        What is called near: the distance in an embedding that is trained on the release.
    calibrated
        Whether guesses are also ranked by how near the rows are for somebody with so many other people
        around, and all configurations are tested together by dealing labels anew.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

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
    - Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnádi, B. (2023). A Unified Framework for Quantifying
      Privacy Risk in Synthetic Data. Proceedings on Privacy Enhancing Technologies.
    """

    most_labels: int = 20
    representation: Representation = field(default_factory=Contrastive)

    name: ClassVar[str] = "inference_contrastive"
    title: ClassVar[str] = "Inference, contrastive"
    cost: ClassVar[Cost] = "slow"
    extra: ClassVar[str] = "deep"
    on_request: ClassVar[bool] = True
    beside: ClassVar[tuple[str, ...]] = ("inference",)

    def _ways(
        self, targets: Split, view: View, secret: str, known: Sequence[str], looked_up: LookedUp
    ) -> Mapping[str, Sides]:
        """Guess what the nearest row says, and whatever fits better of that and a model's prediction."""
        if not isinstance(view, VectorView) or looked_up.seen is None:
            raise ParameterError(
                f"{type(self).__name__}: representation must place rows as vectors, such as "
                f"tabveil.engines.representation.Contrastive(), got {self.representation!r}."
            )
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

        >>> both = Candidates(
        ...     own=np.array([30.0]),
        ...     predicted=np.array([40.0]),
        ...     vectors=np.array([[0.6, 0.8], [0.8, 0.6]]),
        ...     which=np.array([[0], [1]]),
        ... )
        >>> both.better(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 0])).tolist()
        [40.0, 30.0]
        """
        own, predicted = ((people * self.vectors[which[neighbor]]).sum(axis=1) for which in self.which)
        return np.where(own >= predicted, self.own[neighbor], self.predicted[neighbor])
