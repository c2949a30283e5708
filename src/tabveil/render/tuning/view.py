"""What a search found, in sentences: the same on the terminal and on the page."""

from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from tabveil.core.settings import yaml_files
from tabveil.core.wording import LONGEST_BRIEF, clean, listed, name, number, plural, setting
from tabveil.metrics.utility import MEANINGS
from tabveil.render import svg
from tabveil.workflows.tuning.tradeoffs import Attempt, SearchFindings

_MOST_TEXT = 300  # letters of a configuration in a table


def risk_title(tuned: SearchFindings) -> str:
    """Say what the number of privacy is."""
    metrics = list(tuned.asked.metrics.values())
    of = name(metrics[0]) if len(metrics) == 1 else f"largest of {len(metrics)} metrics"
    return f"{of}, upper end" if tuned.asked.by == "upper" else of


def loss_title(tuned: SearchFindings) -> str:
    """Say what the number of usefulness is."""
    meaning = MEANINGS.get(tuned.asked.utility)
    if meaning is None:
        return "what models score less, downstream"
    above = f" above {meaning.best:g}" if meaning.best else ""
    return f"{meaning.title[:1].lower()}{meaning.title[1:]}{above}"


def told(values: Mapping[str, Any]) -> str:
    """Write settings in a line.

    >>> told({"models.0.k": 5, "transition": "uniform"})
    'models.0.k 5, transition uniform'
    """
    parts = (
        f"{name(key)} ({setting(value)})"
        if isinstance(value, (Mapping, list))
        else f"{name(key)} {setting(value)}"
        for key, value in values.items()
    )
    return clean(", ".join(parts), _MOST_TEXT)


def as_file(tuned: SearchFindings, chosen: Attempt) -> str:
    """Write a configuration as ``tabveil synthesize --config`` reads it."""
    said = {"generator": tuned.asked.generator, "settings": dict(chosen.settings)}
    return yaml_files.to_yaml(said).rstrip("\n")


def search(tuned: SearchFindings) -> str:
    """Say how was searched, and where."""
    asked, rows = tuned.asked, tuned.rows
    size = "" if asked.space_size is None else f" of {asked.space_size:,}"
    how = {"grid": "on a grid", "optuna": "with Optuna"}.get(asked.searcher, asked.searcher)
    return (
        f"{len(tuned.tried):,}{size} configurations of {name(asked.generator)} tried {how}, each with "
        f"{plural(asked.repeats, 'draw')} of {rows.train:,} train and {rows.control:,} control rows from "
        f"{rows.searched:,}; {rows.held_out:,} rows were held out."
    )


def choice(tuned: SearchFindings) -> str:
    """Say which configuration to take under the policy, and why."""
    if tuned.choice is None:
        return "No configuration has both numbers: there is nothing to choose from."
    chosen, n = tuned.of(tuned.choice.number), len([item for item in tuned.tried if item.within])
    if tuned.choice.within:
        among = "the only one" if n == 1 else f"the one that loses least of the {n:,}"
        why = f"configuration {chosen.number}: {among} within every threshold."
        if tuned.check is not None and tuned.check.score is not None and not tuned.check.within:
            return f"By the search alone, the policy would take {why}"
        return f"Under the policy, take {why}"
    worst, share = _worst(tuned, chosen)
    return (
        f"No configuration is within every threshold of the policy. Nearest is configuration "
        f"{chosen.number}: {share}, by {worst}."
    )


def _worst(tuned: SearchFindings, chosen: Attempt) -> tuple[str, str]:
    """Return the attack that is farthest above its threshold, and its upper end beside it."""
    assert chosen.score is not None, "only what has numbers is chosen"
    risks, thresholds = chosen.score.risks, tuned.asked.thresholds
    label = max(thresholds, key=lambda item: risks[item].high / thresholds[item])
    if risks[label].high <= thresholds[label]:
        return name(tuned.asked.metrics[label]), "an attack is no better than its baseline and cannot tell"
    beside = f"an upper end of {number(risks[label].high)} where {thresholds[label]:g} is accepted"
    return name(tuned.asked.metrics[label]), beside


def check(tuned: SearchFindings) -> str:
    """Say what came of the check on rows that the search never used."""
    found = tuned.check
    if tuned.choice is None or found is None:
        return ""
    if found.score is None:
        return f"It could not be checked on the rows held out: {clean(found.why or '', LONGEST_BRIEF)}"
    assert found.optimism_privacy is not None
    assert found.optimism_loss is not None
    said = (
        f"On rows that the search never used, its risk is {_more(found.optimism_privacy)} and its loss "
        f"{_more(found.optimism_loss)}: the best of many owes part of its numbers to chance."
    )
    if tuned.choice.within and not found.within:
        return f"{said} There it is not within every threshold: do not rely on what the search says."
    if found.within:
        return f"{said} It is within every threshold there, too."
    return said


def _more(difference: float) -> str:
    return f"{number(abs(difference))} {'higher' if difference > 0 else 'lower'}"


def signed(difference: float | None, minus: str = "−") -> str:
    """Write a difference with its sign."""
    if difference is None:
        return number(None)
    return f"{'+' if difference > 0 else minus if difference < 0 else ''}{number(abs(difference), minus)}"


def cautions(tuned: SearchFindings) -> list[str]:
    """Say what the search does not say."""
    asked = tuned.asked
    found = ["Numbers are means over draws that share rows. Before anything is released, audit the release."]
    if asked.not_searched:
        found.append(f"The policy also requires what was not searched with: {listed(asked.not_searched)}.")
    found += asked.cautions
    if asked.repeats == 1:
        found.append("With one draw each, differences between configurations may be chance.")
    return found


def reasons(failed: Iterable[Attempt]) -> list[tuple[str, list[int]]]:
    """Gather configurations that came to nothing by their reason, the most frequent first."""
    found: dict[str, list[int]] = {}
    for item in failed:
        found.setdefault(item.why or "unknown", []).append(item.number)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def numbers(items: Iterable[int]) -> str:
    """Write numbers of configurations, runs of them by their ends.

    >>> numbers([1, 2, 3, 5, 8, 9])
    '1 to 3, 5, 8, 9'
    """
    runs: list[list[int]] = []
    for item in sorted(items):
        if runs and item == runs[-1][-1] + 1:
            runs[-1].append(item)
        else:
            runs.append([item])
    return ", ".join(
        f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run))  # noqa: PLR2004 - two are named
        for run in runs
    )


def chart(tuned: SearchFindings) -> Markup:
    """Draw all configurations, those that no other beats, and the chosen one with its check."""
    best = set(tuned.front)
    points = [
        svg.TradeOff(
            number=item.number,
            x=item.score.loss,
            y=item.score.privacy,
            best=item.number in best,
            within=item.within,
        )
        for item in tuned.tried
        if item.score is not None
    ]
    score = None if tuned.check is None else tuned.check.score
    chosen = None
    if tuned.choice is not None:
        chosen = svg.Checked(
            number=tuned.choice.number,
            x=None if score is None else score.loss,
            y=None if score is None else score.privacy,
        )
    thresholds = set(tuned.asked.thresholds.values())
    judged = tuned.asked.by == "upper" and len(thresholds) == 1
    return svg.front(
        points,
        chosen=chosen,
        threshold=thresholds.pop() if judged else None,
        x_title=f"loss: {loss_title(tuned)}",
        y_title=f"risk: {risk_title(tuned)}",
    )
