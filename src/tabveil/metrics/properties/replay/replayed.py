"""What reappears of people, as traces of them that a verdict judges.

A name or a letter in a release needs no attacker. Whether as much of people reappears whom the generator
never saw is asked of whole people, exactly: parts of names, which count a tenth of one, are left to the
metric.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tabveil.core.estimate import CONFIDENCE, difference
from tabveil.core.estimate.risk import exact_chance
from tabveil.core.result import Configuration, Result
from tabveil.core.wording import UNSEEN, listed, percent, plural
from tabveil.metrics.properties.replay.patterns import PLURALS
from tabveil.metrics.properties.replay.pii import PART, PiiReplay
from tabveil.metrics.properties.replay.text import TextReplay
from tabveil.metrics.traces import Trace

IDENTIFYING, TEXTS = "identifying values", "texts"
NUMBERS = frozenset({"identifier", "account number", "national identifier", "phone number"})
"""Kinds of values that somebody may count up."""


def replayed(results: Iterable[Result], *, apart: Collection[str] = ()) -> tuple[Trace, ...]:
    """Return a trace for each metric of what reappears that ran, and had people to compare.

    ``apart`` are columns that number the people of train and of control apart. A release that numbers its own
    rows meets those of one table more often, and nothing leaks: numbers there are left to ``case_numbers``.

    The p-value is that of Fisher's exact test (1935) of the people who have such values or texts: if nothing
    was learned by heart, those of train and of control are equally likely to reappear. It is multiplied by
    the number of kinds, columns and lengths that were tried.
    """
    named = {PiiReplay.name: (IDENTIFYING, "Identifying values"), TextReplay.name: (TEXTS, "Texts")}
    found: dict[str, Trace] = {}
    for result in results:
        if result.metric in named and result.metric not in found:
            trace = _trace(result, *named[result.metric], apart=apart)
            if trace is not None:
                found[result.metric] = trace
    return tuple(found.values())


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """The people of whom something reappears, by one configuration."""

    label: str
    column: str | None
    train: int
    n_train: int
    control: int
    n_control: int
    p_value: float


def _trace(result: Result, name: str, title: str, *, apart: Collection[str]) -> Trace | None:
    counted = list(_counted(result.configurations, apart))
    if not counted:
        return None
    lead = min(counted, key=lambda item: (item.p_value, -item.train / item.n_train, item.label))
    level = float(result.details.get("confidence_of_each", CONFIDENCE))
    return Trace(
        name=name,
        title=title,
        sentence=_sentence(lead, title),
        p_value=min(1.0, len(counted) * lead.p_value),
        people=lead.train,
        n_people=lead.n_train,
        people_control=lead.control,
        n_control=lead.n_control,
        gain=difference(lead.train, lead.n_train, lead.control, lead.n_control, level),
        columns=() if lead.column is None else (lead.column,),
    )


def _counted(configurations: Sequence[Configuration], apart: Collection[str]) -> Iterator[_Counted]:
    """Count people exactly; those of whom a part of a name reappears are none."""
    left_out = {
        item.setting.target
        for item in configurations
        if item.facts.get("kind") in NUMBERS and item.setting.target in apart
    }
    for item in configurations:
        facts, target = item.facts, item.setting.target
        if item.attack is None or item.control is None or facts.get("kind") == PART:
            continue
        if left_out and (target in left_out or (target is None and "words" not in facts)):
            continue  # and all kinds together have it among them
        train, control = int(facts["train_people"]), int(facts["control_people"])
        of_train, of_control = int(facts["train_holding"]), int(facts["control_holding"])
        if not (of_train and of_control):
            continue  # nobody of control could be found
        yield _Counted(
            label=_label(item),
            column=item.setting.target,
            train=train,
            n_train=item.attack.n,
            control=control,
            n_control=item.control.n,
            p_value=exact_chance(train, of_train, control, of_control),
        )


def _label(item: Configuration) -> str:
    where = "" if item.setting.target is None else f" in {listed([item.setting.target])}"
    if "kind" in item.facts:
        return f"{PLURALS[item.facts['kind']]}{where}"
    if "words" in item.facts:
        return f"passages of {item.facts['words']} words{where}"
    return "all kinds together"


def _sentence(lead: _Counted, title: str) -> str:
    people = plural(lead.n_train, "training person", "training people")
    return (
        f"{title} ({lead.label}) of {lead.train:,} of {people} ({percent(lead.train / lead.n_train)}) stand "
        f"in the release, and of {lead.control:,} of {lead.n_control:,} {UNSEEN} "
        f"({percent(lead.control / lead.n_control)})."
    )
