"""The networks of CTGAN: a generator of rows, a critic that judges packs of rows, and how both learn.

A row is a vector: first the scalars of the numeric columns, then a block of slots for each column. Blocks of
the same size stand side by side, so that one softmax serves them all.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tabveil.core.table import Floats, Indices
from tabveil.core.workers import tell

if TYPE_CHECKING:
    from tabveil.synthesis.generators.ctgan import Ctgan
    from tabveil.synthesis.generators.dpctgan.synthesizer import DpCtgan

TEMPERATURE = 0.2
LEAK = 0.2
DROPOUT = 0.5
PENALTY = 10.0
BETAS = (0.5, 0.9)
WEIGHT_DECAY = 1e-6
MOST_ENTRIES = 512
"""A longer condition is condensed first: every layer passes it on, up to weights for each pair of slots."""
SETTLING = 20
"""Batches from which the averaged generator learns how its layers are spread."""
_LEAST_CHANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class RowLayout:
    """Where everything stands in a row's vector and in a condition's.

    ``sizes`` are the slots of each column, ``scalar`` the columns with a scalar, ``single`` for each of these
    the slots that are a single number, and ``conditional`` the columns that a condition may fix.
    """

    sizes: tuple[int, ...]
    scalar: tuple[int, ...]
    single: tuple[tuple[int, ...], ...]
    conditional: tuple[int, ...]

    @cached_property
    def groups(self) -> tuple[tuple[int, int, int], ...]:
        """Blocks of the same size: where they start, how many they are, how large each is."""
        groups, start = [], 0
        for size in sorted({size for size in self.sizes if size > 1}):
            groups.append((start, self.sizes.count(size), size))
            start += size * self.sizes.count(size)
        return tuple(groups)

    @cached_property
    def starts(self) -> Indices:
        """Where each column's block starts among all slots; meaningless for columns with a single slot."""
        sizes = np.array(self.sizes)
        order = np.argsort(sizes, kind="stable")
        kept = np.where(sizes[order] > 1, sizes[order], 0)
        starts = np.empty(len(sizes), dtype=np.int64)
        starts[order] = np.cumsum(kept) - kept
        return starts

    @property
    def n_slots(self) -> int:
        """All slots of columns that have more than one."""
        return sum(size for size in self.sizes if size > 1)

    @property
    def width(self) -> int:
        """The length of a row's vector."""
        return len(self.scalar) + self.n_slots

    @cached_property
    def condition_slots(self) -> Indices:
        """For each entry of a condition's vector, its place among all slots."""
        blocks = [self.starts[c] + np.arange(self.sizes[c]) for c in self.conditional]
        return np.concatenate([*blocks, np.empty(0, dtype=np.int64)]).astype(np.int64)

    @property
    def telling(self) -> tuple[int, ...]:
        """The columns with more than one slot."""
        return tuple(c for c, size in enumerate(self.sizes) if size > 1)

    def chosen(self, slots: Tensor) -> Indices:
        """Return the largest slot of every column (n, columns); 0 where a column has but one."""
        found = np.zeros((len(slots), len(self.sizes)), dtype=np.int64)
        if self.telling:
            by_place = sorted(self.telling, key=lambda column: int(self.starts[column]))
            found[:, by_place] = self.by_block(slots, lambda block: block.argmax(-1)).cpu().numpy()
        return found

    def by_block(self, slots: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a function to the blocks (n, blocks, size) of each size; return its answers side by side."""
        parts = [
            function(slots[:, start : start + count * size].reshape(-1, count, size)).flatten(1)
            for start, count, size in self.groups
        ]
        return torch.cat(parts, dim=1) if parts else slots


class Generator(nn.Module):
    """Turns noise and a condition into rows; every layer also passes on what it was given."""

    def __init__(self, layout: RowLayout, *, embedding: int, layers: Sequence[int]) -> None:
        super().__init__()
        self.layout, self.embedding = layout, embedding
        n_entries = len(layout.condition_slots)
        self.condense = nn.Linear(n_entries, embedding, bias=False) if n_entries > MOST_ENTRIES else None
        width = embedding + (embedding if self.condense else n_entries)
        self.layers, self.norms = nn.ModuleList(), nn.ModuleList()
        for size in layers:
            self.layers.append(nn.Linear(width, size))
            self.norms.append(nn.BatchNorm1d(size))
            width += size
        self.out = nn.Linear(width, layout.width)
        single = torch.zeros(layout.n_slots, len(layout.scalar))
        for place, (column, slots) in enumerate(zip(layout.scalar, layout.single, strict=True)):
            single[int(layout.starts[column]) + torch.tensor(slots, dtype=torch.long), place] = 1.0
        self.register_buffer("single", single, persistent=False)
        self.single: Tensor

    def forward(self, condition: Tensor) -> tuple[Tensor, Tensor]:
        """Return rows (n, width) for conditions (n, entries), and the log-chances of the slots (n, slots)."""
        noise = torch.randn(len(condition), self.embedding, device=condition.device)
        hidden = torch.cat([noise, self.condense(condition) if self.condense else condition], dim=1)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            hidden = torch.cat([hidden, functional.relu(norm(layer(hidden)))], dim=1)
        out = self.out(hidden)
        n_scalars = len(self.layout.scalar)
        chances = self.layout.by_block(out[:, n_scalars:], lambda block: block.log_softmax(-1))
        gumbel = -torch.empty_like(chances).exponential_().log()
        noisy = (chances + gumbel) / TEMPERATURE
        slots = self.layout.by_block(noisy, lambda block: block.softmax(-1))
        scalars = torch.tanh(out[:, :n_scalars]) * (1 - slots @ self.single)  # a single number has no place
        return torch.cat([scalars, slots], dim=1), chances

    @torch.no_grad()
    def start_at(self, frequencies: Sequence[Floats], *, gain: float = 1.0) -> None:
        """Let every column start with the right share of each slot, so that training is about the rest.

        ``gain`` is how much further than usual the scalars spread at first.
        """
        self.out.weight[: len(self.layout.scalar)] *= gain
        for column in self.layout.telling:
            start = len(self.layout.scalar) + int(self.layout.starts[column])
            chances = np.maximum(frequencies[column], _LEAST_CHANCE)
            self.out.bias[start : start + len(chances)] = torch.from_numpy(np.log(chances))


class Critic(nn.Module):
    """Scores packs of rows: high for real ones, low for generated ones."""

    def __init__(self, width: int, *, layers: Sequence[int], pac: int, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.pac = pac
        parts: list[nn.Module] = []
        width *= pac
        for size in layers:
            parts += [nn.Linear(width, size), nn.LeakyReLU(LEAK)]
            parts += [nn.Dropout(dropout)] if dropout else []
            width = size
        self.score = nn.Sequential(*parts, nn.Linear(width, 1))

    def forward(self, rows: Tensor) -> Tensor:
        """Return the score of each pack (n / pac,)."""
        scores: Tensor = self.score(rows.reshape(len(rows) // self.pac, -1))
        return scores.squeeze(1)


class Conditions:
    """Draws which column a condition fixes, all equally likely, and to which of its slots."""

    def __init__(self, layout: RowLayout, frequencies: Sequence[Floats], device: str | torch.device) -> None:
        ends = [
            place + np.append(np.cumsum(share)[:-1] / share.sum(), 1.0)
            for place, share in enumerate(frequencies[column] for column in layout.conditional)
        ]
        self.ends = torch.from_numpy(np.concatenate([*ends, np.empty(0)])).to(device)
        self.n_columns = len(ends)

    def draw(self, n: int) -> Tensor:
        """Return the entries that are set (n,)."""
        at = torch.rand(n, dtype=torch.float64, device=self.ends.device) * self.n_columns
        return torch.searchsorted(self.ends, at, right=True).clamp_(max=max(len(self.ends) - 1, 0))

    def vectors(self, entries: Tensor) -> Tensor:
        """Return the conditions (n, entries)."""
        vectors = torch.zeros(len(entries), len(self.ends), device=entries.device)
        return vectors.scatter_(1, entries[:, None], 1.0) if len(self.ends) else vectors


class EncodedRows:
    """The real rows, ready to be drawn at random or by condition."""

    def __init__(self, layout: RowLayout, slots: Indices, scalars: Floats, device: str) -> None:
        telling = list(layout.telling)
        self.places = torch.from_numpy(slots[:, telling] + layout.starts[telling]).to(device)  # (n, blocks)
        self.scalars = torch.from_numpy(scalars[:, list(layout.scalar)]).float().to(device)
        self.n_slots = layout.n_slots
        columns = list(layout.conditional)
        by_slot = np.argsort(slots[:, columns], axis=0, kind="stable").T.ravel()
        counts = [np.bincount(slots[:, column], minlength=layout.sizes[column]) for column in columns]
        flat = np.concatenate([*counts, np.empty(0, dtype=np.int64)]).astype(np.int64)
        self.by_slot = torch.from_numpy(by_slot).to(device)
        self.counts = torch.from_numpy(flat).to(device)
        self.first = torch.from_numpy(np.cumsum(flat) - flat).to(device)

    def __len__(self) -> int:
        return len(self.places)

    def matching(self, entries: Tensor) -> Tensor:
        """Return a random row for each condition, as vectors."""
        if len(self.counts) == 0:
            return self.vectors(torch.randint(len(self), (len(entries),), device=entries.device))
        at = torch.rand(len(entries), dtype=torch.float64, device=entries.device) * self.counts[entries]
        return self.vectors(self.by_slot[self.first[entries] + at.long()])

    def vectors(self, rows: Tensor) -> Tensor:
        """Return rows as vectors (n, width)."""
        slots = torch.zeros(len(rows), self.n_slots, device=rows.device)
        return torch.cat([self.scalars[rows], slots.scatter_(1, self.places[rows], 1.0)], dim=1)


def condition_loss(chances: Tensor, places: Tensor) -> Tensor:
    """Return how surprised the generator would be by the slots that the conditions ask for."""
    if len(places) == 0 or chances.shape[1] == 0:
        return chances.new_zeros(())
    return -chances.gather(1, places[:, None]).mean()


def penalty(critic: Critic, real: Tensor, fake: Tensor) -> Tensor:
    """Return how far the critic's slope between real and generated packs is from 1 (WGAN-GP)."""
    n = len(real) // critic.pac
    share = torch.rand(n, 1, device=real.device).repeat_interleave(critic.pac, dim=0)
    between = torch.lerp(fake, real, share).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    steepness: Tensor = slope.reshape(n, -1).norm(dim=1)
    return PENALTY * ((steepness - 1) ** 2).mean()


class RunningAverage:
    """A running average of a generator's weights: this share of it stays at each step."""

    def __init__(self, generator: Generator, share: float) -> None:
        self.generator, self.share = generator, share
        self.kept = copy.deepcopy(generator) if share else generator

    @torch.no_grad()
    def update(self) -> None:
        """Take in the present weights."""
        if self.share:
            for kept, present in zip(self.kept.parameters(), self.generator.parameters(), strict=True):
                kept.lerp_(present, 1 - self.share)

    @torch.no_grad()
    def settle(self, batches: Iterator[Tensor]) -> Generator:
        """Learn anew how the layers of the kept weights are spread; return them, ready to draw."""
        for norm in self.kept.norms:
            assert isinstance(norm, nn.BatchNorm1d), "as built"
            norm.reset_running_stats()
            norm.momentum = None  # a plain mean over all batches
        self.kept.train()
        for batch in batches:
            self.kept(batch)
        return self.kept.eval()


class GeneratorLearner:
    """A generator that learns from a critic, private or not."""

    def __init__(
        self,
        settings: "Ctgan | DpCtgan",
        generator: Generator,
        slots: Indices,
        scalars: Floats,
        frequencies: Sequence[Floats],
    ) -> None:
        layout, self.generator, self.batch_size = generator.layout, generator, settings.batch_size
        self.rows = EncodedRows(layout, slots, scalars, settings.device)
        self.conditions = Conditions(layout, frequencies, settings.device)
        self.places = torch.from_numpy(layout.condition_slots).to(settings.device)
        self.averaged = RunningAverage(generator, settings.averaging)
        self.optimizer = torch.optim.Adam(
            generator.parameters(), lr=settings.learning_rate, betas=BETAS, weight_decay=WEIGHT_DECAY
        )

    def draw_conditions(self) -> tuple[Tensor, Tensor]:
        """Draw as many conditions as a batch has rows; return their entries and their vectors."""
        entries = self.conditions.draw(self.batch_size)
        return entries, self.conditions.vectors(entries)

    def teach_generator(self, judge: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Take a step toward rows that are judged well, given their conditions; return the loss."""
        entries, condition = self.draw_conditions()
        made, chances = self.generator(condition)
        asked = self.places[entries] if len(self.places) else entries[:0]
        loss: Tensor = condition_loss(chances, asked) - judge(made, condition).mean()
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        self.optimizer.step()
        self.averaged.update()
        return loss.detach()

    def finish(self) -> Generator:
        """Return the generator that is kept."""
        return self.averaged.settle(self.draw_conditions()[1] for _ in range(SETTLING))


class GanLearner(GeneratorLearner):
    """Critic and generator, taking turns; labels are practiced by the logarithm of their count."""

    def __init__(self, settings: "Ctgan", generator: Generator, slots: Indices, scalars: Floats) -> None:
        sizes = zip(slots.T, generator.layout.sizes, strict=True)
        practiced = [np.log1p(np.bincount(column, minlength=size)) for column, size in sizes]
        super().__init__(settings, generator, slots, scalars, practiced)
        self.settings = settings
        width = generator.layout.width + len(self.places)
        self.critic = Critic(width, layers=settings.layers, pac=settings.pac).to(settings.device)
        self.critic_optimizer = torch.optim.Adam(
            self.critic.parameters(), lr=settings.critic_learning_rate, betas=BETAS
        )

    def epoch(self, _: int) -> tuple[float | None, float | None]:
        """Look at about as many rows as there are; return the critic's estimate of the distance."""
        steps = max(1, len(self.rows) // self.settings.batch_size)
        distances = []
        for i in range(steps):
            distances += [self._teach_critic() for _ in range(self.settings.critic_steps)]
            self.critic.requires_grad_(False)  # it only judges now
            self.teach_generator(lambda made, condition: self.critic(torch.cat([made, condition], dim=1)))
            self.critic.requires_grad_(True)
            tell(f"step {i + 1} of {steps}", (i + 1) / steps)
        return float(torch.stack(distances).mean()), None

    def _teach_critic(self) -> Tensor:
        entries, condition = self.draw_conditions()
        with torch.no_grad():
            made, _ = self.generator(condition)
        real = torch.cat([self.rows.matching(entries), condition], dim=1)
        fake = torch.cat([made, condition], dim=1)
        real_score, fake_score = self.critic(torch.cat([real, fake])).chunk(2)
        distance: Tensor = real_score.mean() - fake_score.mean()
        self.critic_optimizer.zero_grad()
        torch.autograd.backward(penalty(self.critic, real, fake) - distance)
        self.critic_optimizer.step()
        return distance.detach()
