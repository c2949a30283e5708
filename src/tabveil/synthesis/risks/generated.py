"""Releases from a generator: as it is, made to memorize, or with more or less privacy promised."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.settings.registry import as_given, make, settings_of, values_of
from tabveil.core.table import Schema, Table
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError, SchemaError
from tabveil.protocols import Release, RiskModel, Synthesizer
from tabveil.synthesis.generators import GENERATORS, Account
from tabveil.synthesis.generators.models import require_model, require_synthesizer
from tabveil.synthesis.generators.privacy import PUBLIC


def fit_and_draw(
    owner: str, synthesizer: Synthesizer, train: Table, release: Table, *, rng: Generator
) -> tuple[Release, Account]:
    """Learn from train and draw as many rows as ``release`` has; also return what the model tells of itself.

    The facts of the release are the ``epochs`` that the model was trained for, and ``epsilon`` and ``delta``
    as they were accounted for; what a model does not tell is left out.
    """
    if train.schema != release.schema:
        raise SchemaError(owner, "train and release must have the same schema.")
    synthesizer = _with_everything_public(synthesizer, train.schema)
    model = require_model(synthesizer.name, synthesizer.fit(train, rng=rng))
    told = Account.of(model)
    if INTERRUPTED in told.notes:  # a model that was not trained to its end has another risk than the level's
        raise KeyboardInterrupt
    rows = model.sample(len(release), rng=rng)
    if rows.schema != release.schema:
        raise SchemaError(owner, f"{model.name} must draw rows of the schema that it learned.")
    facts = {"epochs": float(len(told.history))} if told.history else {}
    if told.privacy is not None:
        facts |= {"epsilon": told.privacy.epsilon, "delta": told.privacy.delta}
    return Release(rows=rows, facts=facts), told


def _with_everything_public(synthesizer: Synthesizer, schema: Schema) -> Synthesizer:
    """Declare all columns to whoever promises privacy.

    In a benchmark one schema describes train and rows that nobody learns from alike, so it tells as little
    about who is in train as a declaration would. What protects people is then the noise alone.
    """
    known = values_of(synthesizer)
    if PUBLIC not in known:
        return synthesizer
    return make(type(synthesizer), {**known, PUBLIC: schema.names}, as_given)


class _Fitted(RiskModel):
    """A risk model that lets a generator learn from training people."""

    generator: str
    settings: Mapping[str, object]

    costly: ClassVar[bool] = True
    needed: ClassVar[Mapping[str, str]] = {}  # settings that the generator must have, and what it then can do
    by_level: ClassVar[str | None] = None  # the setting that the level says: nobody may give it besides
    otherwise: ClassVar[Mapping[str, object]] = {}  # used where the generator has it and nobody gave it

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for setting, what in self.needed.items():
            if setting not in settings_of(GENERATORS.find(owner, self.generator)):
                able = ", ".join(name for name, kind in GENERATORS.items() if setting in settings_of(kind))
                raise ParameterError(
                    owner, f"generator must be one that {what} ({able}), got {self.generator!r}."
                )
        self._synthesizer(self.levels[0])

    def __call__(self, train: Table, release: Table, level: float, *, rng: Generator) -> Release:
        """Draw rows from the generator at this level, fitted on train."""
        return self._made(train, release, level, rng=rng)[0]

    def _made(self, train: Table, release: Table, level: float, *, rng: Generator) -> tuple[Release, Account]:
        self.check_level(level)
        return fit_and_draw(type(self).__name__, self._synthesizer(level), train, release, rng=rng)

    def _synthesizer(self, level: float) -> Synthesizer:
        """Return the generator with its settings checked."""
        owner = type(self).__name__
        kind = GENERATORS.find(owner, self.generator)
        if not isinstance(self.settings, Mapping):
            raise ParameterError(owner, f"settings must be names and values, got {self.settings!r}.")
        if self.by_level in self.settings:
            raise ParameterError(owner, f"settings must not have {self.by_level!r}: the level says it.")
        if PUBLIC in self.settings:
            raise ParameterError(owner, f"settings must not have {PUBLIC!r}: all columns are.")
        known = settings_of(kind)
        defaults = {name: value for name, value in self.otherwise.items() if name in known}
        said = {} if self.by_level is None else {self.by_level: level}
        return require_synthesizer(make(kind, {**defaults, **self.settings, **said}))


@dataclass(frozen=True, kw_only=True)
class Generated(_Fitted):
    """Let a generator learn from training people, with no risk inserted: what it reveals is not known.

    The only level is 1: the generator as it is. What metrics say of it is the risk that is the generator's
    own. Here generators are set side by side, in their
    risks and in their use.

    Parameters
    ----------
    generator
        The name of any generator.
    settings
        Its settings by name. To one that promises privacy all columns count as declared.

    Notes
    -----
    The generator is taken by itself. What ``tabveil synthesize`` does around one (pooling rare labels,
    drawing fresh identifiers) is left out. The facts of a release are the ``epochs`` that the generator
    trained for, ``epsilon`` and ``delta``, each where there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.core.table import Categorical, Schema
    >>> schema = Schema((Categorical(name="sex", labels=("f", "m")),))
    >>> train, release = (Table(schema=schema, values=np.full((4, 1), i)) for i in (0.0, 1.0))
    >>> made = Generated(generator="copy")(train, release, 1.0, rng=np.random.default_rng(0))
    >>> made.rows.column("sex").tolist()
    [0.0, 0.0, 0.0, 0.0]
    """

    generator: str = "trees"
    settings: Mapping[str, object] = field(default_factory=dict)

    name: ClassVar[str] = "generated"
    levels: ClassVar[tuple[float, ...]] = (1.0,)

    @classmethod
    def check_level(cls, level: float) -> None:
        """Require the only one."""
        check.one_of("Generated", "level", level, cls.levels)


EPOCHS = 300
"""How often each row may be looked at, unless settings say so: enough to reach twice the least loss."""


@dataclass(frozen=True, kw_only=True)
class Overfit(_Fitted):
    """Let a generator memorize training people: its loss on others rises to a multiple of its minimum.

    The level is that multiple. At 1.0 the generator is as good as it gets, at 2.0 rows it never saw are twice
    as unlikely to it, in logarithms, because it repeats those it saw.

    Parameters
    ----------
    generator
        The name of a generator that can memorize on purpose: it has a setting ``overfit``.
    settings
        Its other settings by name. Where it trains in epochs, 300 are allowed unless told otherwise.

    Notes
    -----
    The facts of a release are the ``ratio`` that was reached, from the losses in the model's history, and how
    many ``epochs`` it took (the trees: sizes of leaves that were tried). The ratio is a little more than the
    level, as training stops at the first epoch beyond it, or less where the epochs or the leaves came to an
    end before. It is left out where nothing was learned, as in a table of constant columns.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.core.table import Numeric, Schema
    >>> schema = Schema(tuple(Numeric(name=name, low=0, high=1) for name in ("age", "income")))
    >>> rng = np.random.default_rng(0)
    >>> train, release = (Table(schema=schema, values=rng.random((90, 2))) for _ in range(2))
    >>> made = Overfit(generator="trees")(train, release, 1.2, rng=rng)
    >>> len(made.rows), made.facts["ratio"] >= 1.2
    (90, True)
    """

    generator: str = "transformer"
    settings: Mapping[str, object] = field(default_factory=dict)

    name: ClassVar[str] = "overfit"
    levels: ClassVar[tuple[float, ...]] = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
    needed: ClassVar[Mapping[str, str]] = {"overfit": "can memorize on purpose"}
    by_level: ClassVar[str | None] = "overfit"
    otherwise: ClassVar[Mapping[str, object]] = {"epochs": EPOCHS}

    @staticmethod
    def check_level(level: float) -> None:
        """Require a multiple."""
        check.at_least("Overfit", "level", level, 1)
        check.between("Overfit", "level", level, 0, math.inf)

    def __call__(self, train: Table, release: Table, level: float, *, rng: Generator) -> Release:
        """Draw rows from a generator whose held-out loss is ``level`` times its minimum."""
        made, told = self._made(train, release, level, rng=rng)
        losses = [epoch.validation for epoch in told.history if epoch.validation is not None]
        if not losses or not min(losses) > 0:
            return made
        # The minimum itself is kept where that is asked for, and the last round otherwise.
        ratio = 1.0 if level == 1 else losses[-1] / min(losses)
        return Release(rows=made.rows, facts={"ratio": ratio, **made.facts})


@dataclass(frozen=True, kw_only=True)
class Private(_Fitted):
    """Let a generator with differential privacy learn from training people, with less noise at each level.

    The level is ε: at 1 nobody changes the release much, at 100 the promise says nothing any more. How much a
    release really betrays at an ε is not known beforehand: ε is a bound of it.

    Parameters
    ----------
    generator
        The name of a generator that promises privacy.
    settings
        Its other settings by name. The papers' PATE-GAN is ``generator="pategan"`` with
        ``settings={"teachers": "networks"}``.

    Notes
    -----
    All columns count as declared: labels, ranges and decimals are taken from the schema, which describes
    train and rows that nobody learned from alike, and never from train. So the noise alone protects people,
    and ε says all that is promised. The facts of a release are ``epsilon`` and ``delta`` as the generator
    accounted for them, which may be less than was allowed, and ``epochs`` where it trained in epochs.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.core.table import Categorical, Schema
    >>> schema = Schema((Categorical(name="sex", labels=("f", "m")),))
    >>> train, release = (Table(schema=schema, values=np.arange(40.0).reshape(40, 1) % 2) for _ in range(2))
    >>> made = Private()(train, release, 5, rng=np.random.default_rng(0))
    >>> len(made.rows), made.facts
    (40, {'epsilon': 5.0, 'delta': 1e-09})
    """

    generator: str = "aim"
    settings: Mapping[str, object] = field(default_factory=dict)

    name: ClassVar[str] = "private"
    levels: ClassVar[tuple[float, ...]] = (1, 5, 10, 50, 100)
    needed: ClassVar[Mapping[str, str]] = {PUBLIC: "promises privacy", "epsilon": "promises an epsilon"}
    by_level: ClassVar[str | None] = "epsilon"

    @staticmethod
    def check_level(level: float) -> None:
        """Require an ε above 0."""
        check.between("Private", "level", level, 0, math.inf)
