"""TCAP and GTCAP: how often is a claim that the release makes about people with some keys true?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from tabveil.core import check, workers
from tabveil.core.crew import once
from tabveil.core.drawn import Asked
from tabveil.core.estimate import Estimate, chance_of_difference, difference, known, over_all, risk_toward
from tabveil.core.findings import Setting
from tabveil.core.result import Labels, Result, Role, Scores
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.table import Floats, Indices, Split
from tabveil.core.wording import UNSEEN, name, plural, share_of
from tabveil.errors import NotApplicable
from tabveil.metrics.attacks.attack import SecretAttack
from tabveil.metrics.attacks.configurations import Comparison, choose
from tabveil.metrics.attacks.gtcap import claim_kernels as kernels
from tabveil.metrics.attacks.gtcap.claims import ClaimAnswer, Claims, arrange, chance_of_any, find_pure

ALL_KEYS = "Keys: all columns but the target."
SEVERAL_ROWS = (
    "Everybody counts once: for a claim by the share of their rows with near keys that have the target "
    "value, and as exposed by the share of the claims about any of their rows that are true."
)


@takes_presets
@dataclass(frozen=True, kw_only=True)
class Attribution(SecretAttack):
    """Does the release tell a fact about people whose other data are known?

    A synthetic row *claims* its target value of everybody with its keys, if all synthetic rows with near keys
    agree (the WEAP filter). Such a claim is checked against the real people with near keys: which share of
    them has the target value? If nobody has such keys, the share is 0. The score (GTCAP) is the mean over
    *all* claims kept.

    Labels must be equal, numbers within a radius (radius 0 is the original TCAP), and missing matches
    missing; a numeric target likewise. The smaller radii are the careful attacker's.

    Parameters
    ----------
    secrets
        The target columns; None chooses ``n_secrets``.
    known
        The key columns; None means all but the target.
    n_secrets
        How many targets to choose where none are named (an outcome first, then labels hard to guess).
    radii
        How near numbers must be, in shares of the column's range; each radius is a configuration.
    weighting
        ``"hard"`` counts all real rows within the radius alike, ``"soft"`` by how near they are (the mean of
        a triangular kernel over the numeric keys).
    n_attacks
        How many synthetic rows, drawn at random, make claims; None takes all.
    preset
        ``"papers"`` takes what the papers used: a radius of 0.1. Name their target in ``secrets``.

    Notes
    -----
    ``attack`` is the score against training people, ``control`` against people never seen, ``baseline`` that
    of claiming the most frequent label, or the median, of everybody. ``risk = (attack - control) / (worst -
    control)``: 0 where the claims are no truer of training people than of others, 1 for a copy of the
    training rows.

    A larger table has more people with any given keys by its size alone. Both scores are therefore those
    expected for samples as large as the smaller table (in closed form, nothing is drawn), and ``worst`` is
    what claims about real people would score there: 1 at equal sizes. Claims about the same person are right
    or wrong together; the errors are those of a jackknife over real rows, also in closed form. The headline
    is the configuration with the largest lower bound of its gain, among intervals that hold for all of them
    together (Šidák); each is in ``details``.

    References
    ----------
    - Taub, J. and Elliot, M. (2019). The Synthetic Data Challenge. Joint UNECE/Eurostat Work Session on
      Statistical Data Confidentiality.
    - Chapelle, R. and Falissard, B. (2023). Statistical Properties and Privacy Guarantees of an Original
      Distance-Based Fully Synthetic Data Generation Method. arXiv:2310.06571.
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.
    """

    radii: tuple[float, ...] = (0.1, 0.02, 0.0)
    weighting: Literal["hard", "soft"] = "hard"
    n_attacks: int | None = None

    presets: ClassVar[Presets] = {"papers": {"radii": (0.1,), "weighting": "hard", "n_secrets": 1}}
    name: ClassVar[str] = "gtcap"
    cell_bytes: ClassVar[float] = 56.0
    title: ClassVar[str] = "Claims about a target (GTCAP)"
    word: ClassVar[str] = "target"
    labels: ClassVar[Labels] = Labels(
        pillar="attack", wp29="inference", mechanism="uniqueness", auxiliary=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("Attribution", "the number of radii", len(self.radii), 1)
        for radius in self.radii:
            check.below_one("Attribution", "every radius in radii", radius)
        check.one_of("Attribution", "weighting", self.weighting, ("hard", "soft"))

    def asked(self) -> Asked:
        """People are asked, by what the release claims of them."""
        return "people, by claims"

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Check every claim against train and control."""
        targets, note = self.chosen(split)
        claimed = split.synthetic.sample(self.n_attacks or len(split.synthetic), rng=rng)
        checked: dict[Setting, CheckedClaims] = {}
        for target in targets:
            cells = [table.column(target) for table in (split.train, split.control, split.synthetic)]
            if len(np.unique(np.concatenate(cells))) < 2:  # noqa: PLR2004 - something must be told apart
                why = f"target {target!r} holds one value only, so there is nothing to claim."
                raise NotApplicable(self.name, why)
            keys = self.known_beside(target, split, word="keys")
            checked |= self._check(split, keys, target, claimed)
        if not checked:
            raise NotApplicable(
                self.name, "no claim is left: synthetic rows with near keys always differ in the target."
            )
        choice = choose({setting: item.compare for setting, item in checked.items()}, self.confidence)
        best = checked[choice.setting]
        return choice.answer(
            self,
            notes=(
                *_size_note(split),
                *((SEVERAL_ROWS,) if split.train.people is not None else ()),
                note,
                ALL_KEYS if self.known is None else f"Keys: {', '.join(sorted(set(self.known)))}.",
            ),
            scores=tuple(best.scores()),
        )

    def sentence(self, result: Result) -> str:
        """Tell how many claims were made, and how often they are true."""
        target = name(result.leading.target or "") if result.leading else ""
        claims = result.facts.get("claims_kept")
        count = plural(claims, "claim") if isinstance(claims, int) else "claims"
        told = f"The release makes {count} of the kind “people with these data have this {target}”. Among the"
        told += f" training people whom a claim fits it is true of {share_of(result.attack)} on average"
        if result.control is not None:
            told += f", among {UNSEEN} of {share_of(result.control)}"
        if result.baseline is not None:
            told += f"; always claiming the most usual value is true of {share_of(result.baseline)}"
        return f"{told}. A claim that fits nobody counts as 0%."

    def _check(
        self, split: Split, keys: Sequence[str], target: str, claimed: Indices
    ) -> dict[Setting, "CheckedClaims"]:
        weigh = kernels.weigh_rows if split.train.people is None else kernels.weigh_people
        for kernel in (kernels.find_pure, kernels.attribute, weigh):
            workers.announce_compilation(kernel)
        arranged = arrange(split, keys, target)
        n_asked = len(claimed)
        claimed = claimed[~np.isnan(split.synthetic.column(target)[claimed])]  # missing is no fact to claim
        n_claims = np.bincount(arranged.synthetic.of_row[claimed], minlength=len(arranged.synthetic))
        asked = np.flatnonzero(n_claims)
        found = {}
        for radius in sorted(set(self.radii), reverse=True):
            kept = asked[find_pure(arranged, asked, radius)]
            if len(kept) == 0:
                continue
            claims = Claims(
                arranged=arranged,
                radius=radius,
                soft=self.weighting == "soft",
                keys=arranged.synthetic.keys[kept],
                targets=arranged.synthetic.targets[kept],
                groups=arranged.synthetic.groups[kept],
                counts=n_claims[kept].astype(np.float64),
            )
            setting = Setting(label=f"{target}, radius {radius:g}", target=target, radius=radius)
            found[setting] = CheckedClaims(
                n_claims=len(claimed),
                train=ClaimAnswer(claims, arranged.train, split.train.n_people),
                control=ClaimAnswer(claims, arranged.control, split.control.n_people),
                tried=n_asked / len(split.synthetic),
            )
        return found


def _size_note(split: Split) -> tuple[str, ...]:
    if split.control.n_people in {0, split.train.n_people}:
        return ()
    size = min(split.train.n_people, split.control.n_people)
    whom = "rows" if split.train.people is None else "people"
    told = (
        f"Train and control differ in size: attack and control are scores expected for {size} {whom} of each"
    )
    return (f"{told}; the score in all of train is in the details.",)


@dataclass(frozen=True, kw_only=True, eq=False)
class CheckedClaims:
    """One configuration: the claims about one target at one radius, answered by train and by control."""

    n_claims: int
    train: ClaimAnswer
    control: ClaimAnswer
    tried: float  # the share of the released rows whose claims are checked, drawn at random

    def compare(self, confidence: float) -> Comparison:
        """Compare train with control."""
        of_train, of_control = self._scored
        attack, control = of_train(confidence), of_control(confidence) if of_control else None
        people = self.train.exposed(), self.train.n_people, self.control.exposed(), self.control.n_people
        facts = {
            "claims": self.n_claims,
            "claims_kept": int(self.train.claims.total),
            **self.train.facts("train"),
        }
        if control:
            exposed = ("exposed_train", "n_train", "exposed_control", "n_control")
            facts |= self.control.facts("control")
            facts |= {"worst": self._worst, **dict(zip(exposed, people, strict=True))}
        return Comparison(
            attack=attack,
            control=control,
            baseline=known(self.train.score(self._chance, column=3), attack.n),
            risk=risk_toward(attack, control, self._worst) if control else None,
            gain=over_all(difference(*people, confidence), self.tried) if control else None,
            p_value=chance_of_difference(*people) if control else None,
            beats_baseline=self.train.beats_the_usual(),
            facts=facts,
        )

    @property
    def _chance(self) -> Floats:
        return chance_of_any(self.train.n_people, self._size)

    @property
    def _size(self) -> int:
        """The number of people at which both sides are compared."""
        return min(self.train.n_people, self.control.n_people) or self.train.n_people

    @once
    def _worst(self) -> float:
        return self.train.worst(self._chance)

    @once
    def _scored(self) -> tuple[Callable[[float], Estimate], Callable[[float], Estimate] | None]:
        """The scores of train and control, each with its interval at a level of confidence."""
        others = self.control.n_people
        against = self.control.scored(chance_of_any(others, self._size)) if others else None
        return self.train.scored(self._chance), against

    def scores(self) -> list[Scores]:
        """Return how many right claims rest on each real row, or on all rows of its person."""
        found = []
        sides: tuple[tuple[Role, ClaimAnswer], ...] = (("train", self.train), ("control", self.control))
        for role, answer in sides:
            if answer.n_people:
                borne = answer.weigh(chance_of_any(answer.n_people, answer.n_people))[:, 1]
                kind, whose = answer.real.of_row, answer.real.people
                values = borne[kind if whose is None else whose[kind]]
                found.append(Scores(table=role, rows=np.arange(len(kind)), values=values))
        return found
