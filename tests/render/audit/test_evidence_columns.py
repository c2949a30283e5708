"""The chart of columns: one effect is one bar, and every bar says how the attack was set."""

from dataclasses import replace

from supplies import made_reports as made
from supplies.html_documents import Document

from tabveil.auditing.findings import alike
from tabveil.core.estimate import Estimate
from tabveil.core.findings import ColumnRisk, Configuration, Setting
from tabveil.metrics.attacks import Inference
from tabveil.render.audit.evidence import MOST_DRAWN, inferred
from tabveil.render.audit.page import page


def column(name, value, low, high, level=0.01):
    setting = Setting(label=name, target=name, level=level)
    risk = Estimate(value=value, low=low, high=high, n=100)
    return Configuration(setting=setting, risk=risk, attack=risk, control=risk)


def audited(*found):
    risks = tuple(
        ColumnRisk(column=item.setting.target, configuration=item.name, risk=item.risk, attack=item.risk)
        for item in found
    )
    attack = made.attack(Inference, 0.1, found[0].setting, columns=risks)
    return made.report(results=(replace(attack, configurations=found),))


def shown(*found):
    (section,) = inferred(audited(*found))
    return section


COPIES = tuple(column(name, 0.1 + place / 1000, 0.08, 0.12) for place, name in enumerate("dbac"))


def test_one_effect_in_many_columns_is_one_bar():
    section = shown(*COPIES)
    assert section.alike == ("a", "b", "c", "d")
    assert [bar.label for bar in section.bars] == ["4 columns alike"]
    assert section.bars[0].risk == COPIES[2].risk  # the middle one as it was measured
    assert (section.n_apart, section.n_drawn) == (0, 0)


def test_columns_with_more_or_less_than_the_common_effect_stand_apart():
    more, less, none = (
        column("diagnosis", 0.4, 0.3, 0.5, level=1.0),
        column("date", 0.05, 0.04, 0.06),
        column("sex", 0.0, -0.01, 0.01),
    )
    section = shown(less, none, *COPIES, more)
    assert section.alike == ("a", "b", "c", "d")
    assert [bar.label for bar in section.bars] == ["4 columns alike", "diagnosis", "date", "sex"]


def test_columns_are_alike_by_their_risks_and_drawn_and_judged_by_their_gains():
    """Where half of the copied people are guessed anyway, the gain is half as large: one leak still."""
    (attack,) = audited(*COPIES).results
    columns = tuple(
        replace(item, gain=Estimate(value=gain, low=gain / 2, high=2 * gain, n=100))
        for item, gain in zip(attack.columns, (0.1, 0.05, 0.04, 0.02), strict=True)
    )
    (section,) = inferred(made.report(results=(replace(attack, columns=columns),)))
    assert section.alike == ("a", "b", "c", "d")
    assert section.bars[0].risk == columns[2].gain
    unseen = tuple(replace(item, gain=replace(item.gain, low=-0.01)) for item in columns)
    (section,) = inferred(made.report(results=(replace(attack, columns=unseen),)))
    assert section.alike == ()
    assert [bar.risk.value for bar in section.bars] == [
        item.gain.value for item in sorted(unseen, key=name_of)
    ]


def name_of(item):
    return item.column


def test_two_columns_are_no_crowd_and_clean_ones_have_no_effect_in_common():
    assert shown(*COPIES[:2]).alike == ()
    clean = [column(name, 0.001, -0.01, 0.01) for name in "abcde"]
    assert shown(*clean).alike == ()
    assert len(shown(*clean).bars) == 5
    assert alike([ColumnRisk(column="a", configuration="a", risk=None, attack=None)]) == []


def test_every_bar_says_on_which_guesses_the_attacker_acts():
    rows = (
        column("age", 0.3, 0.2, 0.4, level=1.0),
        column("date", 0.04, 0.03, 0.05, level=0.001),
        column("sex", 0.2, 0.1, 0.3, level=1.0),
    )
    words = {bar.label: bar.configuration for bar in shown(*rows).bars}
    assert words == {
        "age": "guessing for everybody",
        "sex": "guessing for everybody",
        "date": "acting on the surest 0.1% of guesses",
    }
    mixed = shown(*COPIES, column("e", 0.1, 0.08, 0.12, level=1.0))
    assert mixed.bars[0].configuration == "acting on the surest 1% of guesses or on more of them"


def test_the_page_explains_the_common_effect_and_names_its_columns():
    text = Document(page(audited(*COPIES))).text
    assert "4 columns show one leak." in text
    assert "The columns are: a, b, c, d." in text
    assert "show one leak" not in Document(page(audited(*COPIES[:2]))).text


def test_of_many_columns_the_clearest_are_drawn():
    rows = [column(f"c{place:02}", place / 100, place / 100 - 0.5, 0.9) for place in range(40)]
    section = shown(*rows)
    assert len(section.bars) == section.n_drawn == MOST_DRAWN
    assert section.n_apart == 40
    assert section.bars[0].label == "c39"
    assert "Drawn one by one are 30 of 40 columns" in Document(page(audited(*rows))).text
