"""Diffusion over mixed columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.storage.arrays import Arrays, require, require_arrays, under
from tabveil.core.table import Table
from tabveil.core.workers import part
from tabveil.engines.networks import rebuild, seeded, train, weights_of
from tabveil.synthesis.generators.models import FittedModel, Maker, require_rows
from tabveil.synthesis.generators.rare_values import redraw_rare_numbers
from tabveil.tables.matrices.curves import CurveScheme

if TYPE_CHECKING:
    from tabveil.synthesis.generators.diffusion_network import DiffusionNetwork


HELD_OUT = 10
"""One row in so many is held out, to see when learning turns into memorizing..."""
MOST_HELD_OUT = 4096
"""... but no more rows."""
ROUNDS = 50
"""The held-out loss is measured so often."""
MOST_NUMBERS = 8_000_000
"""Rows are drawn in chunks with at most so many probabilities at once."""
MOST_TIMESTEPS = 10_000
"""Every step of every row is worked out when rows are drawn."""
WITHOUT_HELD_OUT = "Too few rows to hold any out: training was not checked for memorizing."
WEIGHTS = "network."
"""What the names of the network's arrays begin with."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DiffusionModel(FittedModel):
    """How rows are encoded, and the network."""

    encoding: CurveScheme
    network: "DiffusionNetwork | None" = None  # None if all rows are the same

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Take the noise out of pure noise, step by step."""
        if self.network is None:
            return self.encoding.decode(np.empty((n_rows, 0)), np.empty((n_rows, 0), dtype=np.int64))
        chunk = max(1, MOST_NUMBERS // max(self.made_by.width, sum(self.encoding.sizes)))
        drawn = []
        with seeded(rng, owner=self.name, width=self.made_by.width):
            for start in range(0, n_rows, chunk):
                stop = min(start + chunk, n_rows)
                with part(start / n_rows, stop / n_rows):
                    rows = self.network.eval().draw_rows(stop - start)
                numbers, choices = rows.numbers.double().cpu().numpy(), rows.choices.cpu().numpy()
                drawn.append(self.encoding.decode(numbers, choices).values)
        return Table(schema=self.schema, values=np.concatenate(drawn))

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the encoding and the weights."""
        weights = {} if self.network is None else weights_of(self.network)
        return {}, {**self.encoding.state(), **{WEIGHTS + name: array for name, array in weights.items()}}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model, on the CPU if there is no GPU here."""
        require(not state, "nothing but arrays is stored")
        weights, others = under(arrays, WEIGHTS)
        encoding = CurveScheme.from_state(shared["schema"], others)
        if not encoding.sizes and not encoding.n_numbers:
            require_arrays(weights, {})
            return cls(encoding=encoding, **shared)
        made_by: Diffusion = shared["made_by"]
        require(made_by.layers <= len(weights), "every layer must have its weights")
        network = rebuild(
            lambda: made_by.build(encoding),
            weights,
            owner=made_by.name,
            device=made_by.device,
            not_negative=("unsure",),
        )
        return cls(encoding=encoding, network=network, **shared)


@takes_presets
@dataclass(frozen=True, kw_only=True)
class Diffusion(Maker):
    """Let noise spoil rows bit by bit, learn to undo it, and make new rows out of pure noise.

    Numbers are spoiled by normal noise, labels by now and then putting another in their place, in
    ``timesteps`` small steps until nothing of the row is left. A network learns to tell from a spoiled row
    what it was. A new row starts as pure noise, from which the network takes out a little at a time.

    Parameters
    ----------
    steps
        How often the network is corrected. The learning rate falls evenly to zero over them.
    batch_size
        The rows in one step, drawn at random.
    timesteps
        The steps from a row to pure noise. Fewer draw faster.
    layers, width
        The size of the network.
    preset
        ``"thesis"`` takes what the thesis used (chapter 5): 1,000 steps of 1e-4, three layers
        of 256, a dropout of 0.1, nothing smoothed. Numbers that
        few rows share are then repeated.
    dropout, learning_rate, weight_decay, averaging, smoothing, device
        See :class:`~tabveil.synthesis.generators.models.Maker`.

    Notes
    -----
    The loss in the history is measured 50 times, on a tenth of the rows held out: per column the squared
    error about the noise (numbers) or the negative log-likelihood of the true label, at random times. The
    weights where it is least are kept.

    Each column's numbers are first laid on a normal curve by their ranks; new numbers are read off the same
    curve, so they lie between the smallest and the largest that was learned. A number that at least 10 rows
    share comes back exactly, others lie anywhere between two that were seen. Numbers with at most 32
    different values, ten rows each on average, are treated like labels; so is whether a number is missing, or
    one that at least one row in twenty has. Labels that no row has are never drawn.

    Unlike in TabDDPM, the labels' loss is the cross-entropy of the true label; at each step one is drawn from
    what the network says, then the step back is drawn given that label. A number's step back is as wide as
    the network was measured to be unsure about it. The layers add to what comes in. Several threads,
    which only networks more than 512 wide use, also add up in another order.

    References
    ----------
    - Kotelnikov, A., Baranchuk, D., Rubachev, I. and Babenko, A. (2023). TabDDPM: Modelling Tabular Data with
      Diffusion Models. ICML.
    - Hoogeboom, E., Nielsen, D., Jaini, P., Forré, P. and Welling, M. (2021). Argmax Flows and Multinomial
      Diffusion: Learning Categorical Distributions. NeurIPS.
    - Ho, J., Jain, A. and Abbeel, P. (2020). Denoising Diffusion Probabilistic Models. NeurIPS.
    - Bao, F., Li, C., Zhu, J. and Zhang, B. (2022). Analytic-DPM: an Analytic Estimate of the Optimal Reverse
      Variance in Diffusion Probabilistic Models. ICLR.
    """

    steps: int = 3000
    batch_size: int = 512
    timesteps: int = 100
    layers: int = 3
    width: int = 256
    dropout: float = 0.1
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    averaging: float = 0.99
    smoothing: bool = True
    device: Literal["cpu", "cuda"] = "cpu"

    presets: ClassVar[Presets] = {
        "thesis": {
            "steps": 1000,
            "learning_rate": 1e-4,
            "layers": 3,
            "width": 256,
            "dropout": 0.1,
            "smoothing": False,
        }
    }
    name: ClassVar[str] = "diffusion"
    model: ClassVar[type[FittedModel]] = DiffusionModel

    def __post_init__(self) -> None:
        check.settings_at_least(self, 1, "steps", "batch_size", "layers", "width")
        check.at_least(self.name, "timesteps", self.timesteps, 2)
        check.at_most(self.name, "timesteps", self.timesteps, MOST_TIMESTEPS)
        check.settings_below_one(self, "dropout", "averaging")
        check.at_least(self.name, "learning_rate", self.learning_rate, 1e-9)
        check.at_least(self.name, "weight_decay", self.weight_decay, 0)
        check.one_of(self.name, "device", self.device, ("cpu", "cuda"))

    def fit(self, table: Table, *, rng: Generator) -> DiffusionModel:
        """Learn a table."""
        require_rows(self.name, table)
        table, notes = redraw_rare_numbers(table, rng=rng) if self.smoothing else (table, ())
        encoding = CurveScheme.of(table)
        if not encoding.sizes and not encoding.n_numbers:
            return DiffusionModel(made_by=self, schema=table.schema, encoding=encoding, notes=notes)
        rounds = min(ROUNDS, self.steps)
        n_held_out = min(len(table) // HELD_OUT, MOST_HELD_OUT)
        with seeded(rng, owner=self.name, device=self.device, width=self.width):
            from tabveil.synthesis.generators.diffusion_network import DiffusionLearner  # noqa: PLC0415 - needs torch

            rows = encoding.encode(table.take(rng.permutation(len(table))))
            learner = DiffusionLearner(self.build(encoding).to(self.device), rows, n_held_out, self)
            trained = train(
                learner.kept,
                lambda i: learner.round((i + 1) * self.steps // rounds - i * self.steps // rounds),
                epochs=rounds,
            )
            learner.measure()
        return DiffusionModel(
            made_by=self,
            schema=table.schema,
            encoding=encoding,
            network=learner.kept.eval(),
            history=trained.history,
            notes=(*notes, *trained.notes, *((WITHOUT_HELD_OUT,) if not n_held_out else ())),
        )

    def build(self, encoding: CurveScheme) -> "DiffusionNetwork":
        """Return an untrained network for an encoding."""
        from tabveil.synthesis.generators.diffusion_network import DiffusionNetwork  # noqa: PLC0415 - needs torch

        return DiffusionNetwork(
            encoding.n_numbers,
            encoding.sizes,
            timesteps=self.timesteps,
            width=self.width,
            layers=self.layers,
            dropout=self.dropout,
        )
