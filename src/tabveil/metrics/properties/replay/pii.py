"""PII replay: values that identify real people and stand in the release."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core.findings import Setting
from tabveil.core.result import Labels, Result
from tabveil.core.table import Split
from tabveil.core.wording import listed, name, plural, share_of
from tabveil.errors import NothingToAsk
from tabveil.metrics.properties.replay.numbers import WITHOUT_PLANS, numbering_plans
from tabveil.metrics.properties.replay.patterns import PART_OF_A_NAME, PLURALS, Kind
from tabveil.metrics.properties.replay.reappearance import Asking, Reappearance, Replay
from tabveil.metrics.properties.replay.sources import ValueSource, sources

PART: Kind = "part of a name"


@dataclass(frozen=True, kw_only=True)
class PiiReplay(Replay):
    """Which values that identify real people reappear in the release?

    Names, e-mail and postal addresses, phone and account numbers, national identifiers, and whatever the
    schema calls an identifier, in columns of their own or inside other labels and texts. A training person is
    named by the release where a value of theirs stands in it, in any column or text. The same is asked of
    control people, whom the generator never saw: a name that everybody has is no leak.

    Parameters
    ----------
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of training people of whom a value reappears, ``control`` the share of control
    people; a first name or a surname alone counts a tenth of a person, everything else a whole one. ``risk =
    (attack - control) / (1 - control)``: 0 on average where values are not learned by heart, 1 where everyone
    is named. There is no ``baseline``. Without control people no risk is derived. Given the release, each
    person is named or not by themselves; so the rates are those of independent people, whatever the sizes.
    All kinds and columns are asked about together and one by one, in intervals that hold at once; the risk is
    that with the largest lower bound, if it is above zero, and else that of all. Values are counted, and none
    is kept.

    Recognized anywhere: e-mail addresses; account numbers (IBAN) and card numbers by their check digits;
    phone numbers with a country code (by the plan of the country with the extra ``pii``); national
    identifiers of Belgium, Brazil, Britain, China, France, India, Italy, Spain, Sweden and the United States
    by form and, where there are any, check digits; a house number with a street's name in English, German,
    French, Spanish or Italian. Recognized by their column's name: the same without check digits, and names.
    Full names from such columns (surname and first name also in two), or after a title, are then looked for
    in all texts of the release.

    Not recognized: names in texts that no column holds and no title precedes, nicknames, misspelled names,
    descriptions of a person, numbers of cases and rows (unless the schema says ``type: identifier``), images.

    References
    ----------
    - Steier, A., Ramaswamy, L., Manoel, A. and Haushalter, A. (2025). Synthetic Data Privacy Metrics.
      arXiv:2501.03941. Section 3.2.
    - ISO 13616-1:2020. International bank account number (IBAN).
    - ISO/IEC 7812-1:2017. Identification of issuers. Annex B: the Luhn formula.
    """

    name: ClassVar[str] = "pii_replay"
    title: ClassVar[str] = "Identifying values repeated"
    labels: ClassVar[Labels] = Labels(pillar="property", wp29="singling out", mechanism="uniqueness")
    without: ClassVar[str] = "no column or text of train holds identifying values that it recognizes"

    def __call__(self, split: Split, *, rng: Generator) -> Result:  # noqa: ARG002 - nothing is drawn
        """Look for the values."""
        everywhere = sources(split)
        if not everywhere:
            raise NothingToAsk(self.name, f"{self.without}.")
        lacking = [  # nobody of control could be found by these
            source
            for source in everywhere
            if len(split.control)
            and any(np.isnan(split.control.column(each)).all() for each in source.columns)
        ]
        found = [source for source in everywhere if source not in lacking]
        if not found:
            raise NothingToAsk(
                self.name,
                f"control lacks the columns with identifying values "
                f"({listed(_columns(everywhere))}), so there is nothing to compare with.",
            )
        asked = [_asked_of(source, split) for source in found]
        together, people = _together(found, split)
        if len(found) > 1:
            asked.insert(0, together)
        notes = []
        if lacking:
            notes.append(f"Control lacks {listed(_columns(lacking))}: what stands there is not counted.")
        if any(source.kind == "phone number" for source in found) and numbering_plans() is None:
            notes.append(WITHOUT_PLANS)
        return self.answer(
            asked,
            np.logical_or.reduce([source.found.train for source in found]),
            details={"kinds": sorted({source.kind for source in found}), **people},
            notes=notes,
        )

    def sentence(self, result: Result) -> str:
        """Tell how many people are named, by what, and what stands out most."""
        people = int(result.details.get("train_people", 0))
        verb = "is" if people == 1 else "are"
        told = f"{plural(people, 'training person', 'training people')} {verb} named by the release"
        by = [
            f"{PLURALS[item.facts['kind']]} of {int(item.facts['train_people']):,}"
            for item in result.configurations
            if item.facts.get("kind", PART) != PART and item.facts["train_people"]
        ]
        told += f" ({', '.join(by)})" if by else ""
        part = int(result.details.get("train_people_in_part", 0))
        told += f", and {part:,} by a part of their name alone" if part else ""
        if result.leading is not None:
            most = name(result.leading.name)
            told += f". Most telling ({most}): {share_of(result.attack)} of training people"
            if result.control is not None:
                told += f", {share_of(result.control)} of people the generator never saw"
        return f"{told}."


def _together(found: Sequence[ValueSource], split: Split) -> tuple[Asking, dict[str, int]]:
    """Ask about people by the most that is given away of each, whole or in part; and count them."""

    def of_any(rows: Iterable[Reappearance]) -> Reappearance:
        people = [each.of_people(split) for each in rows]
        train, control = (np.zeros(table.n_people, dtype=np.bool_) for table in (split.train, split.control))
        return Reappearance(
            train=np.logical_or.reduce([train, *(each.train for each in people)]),
            control=np.logical_or.reduce([control, *(each.control for each in people)]),
        )

    whole, parts = ([each for each in found if (each.kind == PART) is part] for part in (False, True))
    named, in_part = (of_any(source.found for source in side) for side in (whole, parts))
    in_part = Reappearance(
        train=in_part.train & ~named.train, control=in_part.control & ~named.control, weight=PART_OF_A_NAME
    )
    people = {**named.counts(), **in_part.counts("people_in_part")}
    # People of whom something could reappear that names them whole.
    holding = of_any(source.holds for source in whole).counts("holding")
    levels = [named, in_part] if parts else [named]
    setting = Setting(label="all kinds, weighted")
    return Asking(setting=setting, levels=levels, facts={**people, **holding}), people


def _asked_of(source: ValueSource, split: Split) -> Asking:
    """Ask about one source alone."""
    where = ", ".join(source.columns)
    weight = PART_OF_A_NAME if source.kind == PART else 1.0
    found = replace(source.found.of_people(split), weight=weight)
    return Asking(
        setting=Setting(label=f"{PLURALS[source.kind]} in {where}", target=where),
        levels=[found],
        facts={
            "kind": source.kind,
            **source.holds.of_people(split).counts("holding"),
            **found.counts(),
            "different_values": source.different,
        },
    )


def _columns(found: Sequence[ValueSource]) -> list[str]:
    return sorted({column for source in found for column in source.columns})
