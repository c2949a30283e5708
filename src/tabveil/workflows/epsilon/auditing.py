"""Does a generator keep the ε it states? Bounds, each with what it proves, and what could have been seen."""

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from scipy.special import ndtri

from tabveil.core import check
from tabveil.core.estimate import Estimate
from tabveil.core.settings import registry
from tabveil.core.storage.plain import Number, PlainData
from tabveil.core.table import Indices
from tabveil.core.workers import Listener, available_threads, working
from tabveil.errors import ParameterError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.pategan import accounting as gaussian
from tabveil.version import __version__
from tabveil.workflows.cells.store import digest
from tabveil.workflows.epsilon import bounds
from tabveil.workflows.epsilon.bounds import Accounting, Guess, GuessCounts
from tabveil.workflows.epsilon.worlds import CHUNK, DEFAULT, SETUPS, Fits, Setup, observe_all, setup_of
from tabveil.workflows.synthesizing.learning import choose, settings_for_users, with_public

State = Literal["violated", "no violation seen", "inconclusive"]

EXIT_CODES: dict[State, int] = {"no violation seen": 0, "violated": 1, "inconclusive": 3}
"""The exit code of each state, as those of a verdict."""

PROVES: dict[Accounting, str] = {
    "any": "whatever the mechanism",
    "concentrated": "for a promise from concentrated privacy",
    "gaussian": "for a promise from Gaussian noise alone",
}


@dataclass(frozen=True, kw_only=True)
class EpsilonFinding(PlainData):
    """Lower bounds of ε beside the promise.

    ``bounds`` has a bound for each way of accounting; those up to ``accounting``, the promise's own, are
    proofs, and all of them hold together with a chance of ``1 - alpha``. ``by_area`` describes.

    ``ceiling`` is what perfect guesses would have proven, ``detectable`` the least true ε behind Gaussian
    noise (at a δ of 0: of randomized response) that would have been found with a chance of ``power``, if the
    release showed all of it; None where none would.
    """

    tabveil: str
    generator: str
    settings: dict[str, Any]
    promised: Number
    delta: Number
    alpha: Number
    accounting: Accounting
    fits: int  # in each world
    tested: int  # of those in each world
    rows: int  # of each release
    counts: GuessCounts
    area: Estimate
    bounds: dict[Accounting, Number]
    by_area: Number | None
    ceiling: Number
    detectable: Number | None
    power: Number

    def proves(self, kind: Accounting) -> bool:
        """Tell whether a bound of this kind is a proof against the promise."""
        order = get_args(Accounting)
        return order.index(kind) <= order.index(self.accounting)

    @property
    def proven(self) -> float:
        """The largest bound that is a proof."""
        return max(bound for kind, bound in self.bounds.items() if self.proves(kind))

    @property
    def described(self) -> float:
        """The largest bound, a proof or not."""
        return max(*self.bounds.values(), self.by_area or 0.0)

    @property
    def state(self) -> State:
        """Whether the promise is broken.

        Inconclusive: perfect guesses would not have proven it, or only a bound that is no proof exceeds it.
        """
        if self.proven > self.promised:
            return "violated"
        if self.ceiling <= self.promised or self.described > self.promised:
            return "inconclusive"
        return "no violation seen"

    @property
    def exit_code(self) -> int:
        """The exit code of the state."""
        return EXIT_CODES[self.state]

    def lines(self) -> list[str]:
        """Say it in words, the most important first."""
        counts = self.counts
        proof = (
            f"Proven: ε is at least {self.proven:.2f} at δ = {self.delta:g}, with an error of {self.alpha:g} "
            f"at most. Promised: {self.promised:g}."
        )
        counted = (
            f"Of {counts.n_with:,} releases with the row {counts.hits:,} were recognized, of "
            f"{counts.n_without:,} without it {counts.false_alarms:,} were mistaken for such; the guess was "
            f"chosen on {self.fits - self.tested:,} other fits of each kind."
        )
        return [self._verdict(), proof, *self._readings(), counted, self._could_be_seen()]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _verdict(self) -> str:
        promise = f"{self.generator}, ε = {self.promised:g}, δ = {self.delta:g}"
        if self.state == "violated":
            return f"Violated: {promise}. One row shows more than that."
        if self.state == "no violation seen":
            return f"No violation seen: {promise}. That is no proof that the promise is kept."
        if self.described <= self.promised:
            return f"Inconclusive: {promise}. So few fits could not have proven more, whatever they showed."
        return (
            f"Inconclusive: {promise}. One row shows more than Gaussian noise of that promise lets through, "
            "which is no proof for this mechanism; look at its noise, or test more fits."
        )

    def _readings(self) -> list[str]:
        told = [
            f"  {bound:.2f} {PROVES[kind]} ({'a proof here' if self.proves(kind) else 'describes only'})"
            for kind, bound in self.bounds.items()
        ]
        if self.by_area is not None:
            told.append(
                f"  {self.by_area:.2f} by all thresholds, as if noise were Gaussian (describes only): AUC "
                f"{self.area.value:.3f}"
            )
        return told

    def _could_be_seen(self) -> str:
        most = f"Perfect guesses would have proven {self.ceiling:.2f}"
        if self.detectable is None:
            return f"{most}."
        return (
            f"{most}; a true ε of {self.detectable:.2f} would have been called a violation with a chance of "
            f"{self.power:.0%}, if the release showed all of it."
        )


POWER = 0.8
"""What is called detectable is found with this chance."""

_OWNER = "audit_epsilon"


def audit_epsilon(
    generator: str | Synthesizer,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    fits: int = 1000,
    alpha: float = 0.05,
    rows: int = 100,
    settings: Mapping[str, object] | None = None,
    accounting: Accounting | None = None,
    setup: Setup | None = None,
    seed: int | None = None,
    workers: int | None = 1,
    store: str | Path | None = None,
    code: Sequence[str | Path] = (),
    progress: Listener | None = None,
) -> EpsilonFinding:
    """Fit a private generator many times with and without one row, and see what that proves of its ε.

    Parameters
    ----------
    generator
        A name (``aim``, ``pategan``, ``dpctgan``, or one of your own that was registered) or a synthesizer.
    epsilon, delta
        The promise that is tested; a generator chosen by name is fitted with it, where it has such settings.
        None takes the generator's own.
    fits
        How many fits in each of the two worlds. Half of them choose how to guess, half are tested. Decide on
        it beforehand: to add fits until something is found makes a false alarm likelier than ``alpha``.
    alpha
        The chance that a bound is above the truth, at most.
    rows
        How many rows each release has, whatever was learned.
    settings
        The generator's further settings, for one chosen by name.
    accounting
        What the promise rests on, and so what is a proof against it: ``"any"`` mechanism,
        ``"concentrated"`` (zero-concentrated privacy) or ``"gaussian"`` noise alone. None: what is known of
        the generator, else ``"any"``.
    setup
        Between which worlds, and with which settings; None: the one made for the generator.
    seed
        The same seed repeats an audit. None takes secret ones.
    workers
        How many processes; None is one for each core.
    store
        A folder that keeps what was fitted; the same audit goes on where it was. Use another when the code of
        a generator has changed.
    code
        Python files that other processes import first, with generators of your own.
    progress
        Told how many fits are done.

    Examples
    --------
    >>> found = audit_epsilon("aim", epsilon=2.0, fits=20, seed=1, settings={"rounds": 8})
    >>> found.state, found.tested
    ('no violation seen', 10)
    """
    check.at_least(_OWNER, "fits", fits, 2)
    check.at_least(_OWNER, "rows", rows, 1)
    check.between(_OWNER, "alpha", alpha, 0, 1)
    if workers is not None:
        check.at_least(_OWNER, "workers", workers, 1)
    synthesizer, setup = _prepare(generator, epsilon, delta, settings, setup)
    promised, delta = (
        _promise(synthesizer, name, given) for name, given in (("epsilon", epsilon), ("delta", delta))
    )
    check.between(_OWNER, "epsilon", promised, 0, bounds.MOST_EPSILON)
    check.below_one(_OWNER, "delta", delta)
    accounting = setup.accounting if accounting is None else accounting
    check.one_of(_OWNER, "accounting", accounting, get_args(Accounting))
    if accounting != "any" and not delta:
        raise ParameterError(_OWNER, f"accounting {accounting!r} needs a delta above 0.")
    what = Fits(synthesizer=synthesizer, worlds=setup.worlds, n_rows=rows)
    with working(listener=progress):
        observed = observe_all(
            what,
            fits,
            seed=secrets.randbits(128) if seed is None else seed,
            workers=available_threads() if workers is None else workers,
            store=None if store is None else Path(store) / _address(what, seed),
            code=code,
        )
    return _find(synthesizer, observed, promised, delta, alpha=alpha, accounting=accounting, n_rows=rows)


def _prepare(
    generator: str | Synthesizer,
    epsilon: float | None,
    delta: float | None,
    settings: Mapping[str, object] | None,
    setup: Setup | None,
) -> tuple[Synthesizer, Setup]:
    """Return the generator with the promise under test, told that all of its columns were declared."""
    given = settings
    if isinstance(generator, str):
        known = settings_for_users(GENERATORS.find(_OWNER, generator))
        promise = {"epsilon": epsilon, "delta": delta}
        usual = (setup or SETUPS.get(generator, DEFAULT)).settings
        given = {
            **{name: value for name, value in usual.items() if name in known},
            **{name: value for name, value in promise.items() if value is not None and name in known},
            **(settings or {}),
        }
    synthesizer = choose(generator, given)
    setup = setup_of(synthesizer) if setup is None else setup
    return with_public(synthesizer, setup.worlds.without.schema.names), setup


def _promise(synthesizer: Synthesizer, name: str, given: float | None) -> float:
    if given is not None:
        return given
    own = getattr(synthesizer, name, MISSING)
    if not isinstance(own, (int, float)):
        raise ParameterError(_OWNER, f"{name} must be given; {synthesizer.name} has no such setting.")
    return float(own)


def _address(fits: Fits, seed: int | None) -> str:
    """Return the folder for fits that are made like these."""
    kind = type(fits.synthesizer)
    # Stores of earlier versions have generators in another room.
    module, worlds = kind.__module__.replace("tabveil.synthesis.", "tabveil."), fits.worlds
    decisive = {
        "version": __version__,
        "generator": f"{module}.{kind.__qualname__}",
        "settings": registry.values_of(fits.synthesizer),
        "schema": worlds.without.schema.to_json(),
        "without": worlds.without.values.tolist(),
        "canary": worlds.canary.tolist(),
        **({"replaces": True} if worlds.replaces else {}),
        "rows": fits.n_rows,
        "chunk": CHUNK,
        "seed": seed,
    }
    return digest(decisive, written=repr)[:16]


def _find(
    synthesizer: Synthesizer,
    observed: tuple[Indices, Indices],
    promised: float,
    delta: float,
    *,
    alpha: float,
    accounting: Accounting,
    n_rows: int,
) -> EpsilonFinding:
    """Choose the guess on every other fit, test it on the rest, and say what that proves."""
    guess = Guess.learn(*(side[::2] for side in observed))
    with_canary, without = (side[1::2] for side in observed)
    counts, area = guess.count(with_canary, without), guess.area(with_canary, without, 1 - 2 * alpha)
    kinds = [kind for kind in get_args(Accounting) if kind == "any" or delta]
    n_tested = len(without)
    needed = bounds.hits_needed(n_tested, bounds.excess_of(promised, accounting, delta=delta), alpha=alpha)
    rate = bounds.rate_found(needed, chance=POWER)
    asked = settings_for_users(type(synthesizer))
    return EpsilonFinding(
        tabveil=__version__,
        generator=synthesizer.name,
        settings={name: value for name, value in registry.values_of(synthesizer).items() if name in asked},
        promised=promised,
        delta=delta,
        alpha=alpha,
        accounting=accounting,
        fits=len(observed[0]),
        tested=n_tested,
        rows=n_rows,
        counts=counts,
        area=area,
        bounds={kind: bounds.least_epsilon(counts, kind, delta=delta, alpha=alpha) for kind in kinds},
        by_area=bounds.epsilon_of_area(area.low, delta) if delta else None,
        ceiling=bounds.ceiling(n_tested, accounting, delta=delta, alpha=alpha),
        detectable=None if rate is None else _epsilon_behind(rate, delta),
        power=POWER,
    )


def _epsilon_behind(rate: float, delta: float) -> float:
    """Return the ε at which guesses are right so often: of Gaussian noise, or of lies where δ is 0."""
    rate = min(rate, 1 - 1e-12)  # where a normal curve ends
    return gaussian.epsilon_of(2 * float(ndtri(rate)), delta) if delta else math.log(rate / (1 - rate))
