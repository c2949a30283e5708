"""What can each metric see? Mean risk and share of seeds detected, at known leaks and behind noise.

``python benchmarks/power.py`` takes minutes and writes docs/power.md, and the leaks of it as power.json for
the metrics' own pages; ``--seeds``, ``--rows``, ``--metric`` and ``--leaks`` make it smaller, ``--table``
takes other people.
"""

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

import samples
import trials
from measure import markdown
from trials import DOCS, Setting, Trial

from tabveil.risks import Leaky, Noisy
from tabveil.table import Numeric

LEAKS = (0.0, 0.01, 0.02, 0.05, 0.10, 1.0)
NOISE = 0.05
SIGMA = "\N{GREEK SMALL LETTER SIGMA}"
ALL_THREE = Noisy(sigma=NOISE, lam=NOISE, p=NOISE, sigma_moves="fine")
ON_EVERY_NUMBER = replace(ALL_THREE, sigma_moves="every")
NOISES = {
    "none": Leaky(),
    f"{SIGMA} = {NOISE:g}": replace(ALL_THREE, lam=0, p=0),
    f"λ = {NOISE:g}": replace(ALL_THREE, sigma=0, p=0),
    f"p = {NOISE:g}": replace(ALL_THREE, sigma=0, lam=0),
    "all three": ALL_THREE,
    f"{SIGMA} on every number": replace(ON_EVERY_NUMBER, lam=0, p=0),
    "all three, on every number": ON_EVERY_NUMBER,
}
JUDGED = ("all three", "all three, on every number")
BEHIND_NOISE = 0.05
SMALL_LEAK = 0.01

# What was to be reached (on Adult, thirds of 4,000 rows).
MUST_SEE = ("singling_out", "linkability", "inference", "membership_distance")
LEAST_DETECTED, MOST_FALSE_ALARMS, LARGEST_BIAS = 0.95, 0.07, 0.003

PAGE = """# What each metric can see

`make power` writes this page. {table}, {n_seeds} seeds;
for each seed three disjoint sets of {n_rows:,} rows (train, control, release) are drawn. The synthetic table
is the release with a known share of its rows replaced by train rows: the leak. A cell is the mean risk and,
in parentheses, the share of seeds whose 95 % interval lies above zero: the leak is *detected*. Each metric
runs with its defaults and speaks through its headline, which already pays for the choice among its
configurations.

## Leaks

{leaks}

## A leak of {behind:.0%} behind noise

Leaked rows are moved before they are released: {sigma} moves real numbers by so many standard deviations of
their column, λ moves whole numbers by a Poisson draw up or down, p replaces a category by another one with
this chance. Which numbers are real is a matter of reading: tables such as Adult store all of them whole, and
read to the letter {sigma} would move nothing. The first columns count those as real in which most rows have
their own value (here: {real}). The last two let {sigma} move every number, which turns the many zeros of
gains and losses into something else. Results differ much between the two readings, so both are shown.

{noises}

## What was to be reached

Set for Adult in thirds of 4,000 rows. No metric may detect a leak that is not there in more than
{alarms:.0%} of the seeds, nor be off zero by more than {bias:g} on average (± is the standard error). The
three risks of WP29 and membership must detect a leak of {small:.0%}, and of {behind:.0%} behind all three
noises, in at least {detected:.0%} of the seeds; *reached* asks for it under both readings of the noise. What
falls short is in bold.

{reached}
"""

TITLES = {
    "adult": "Adult without duplicates (15 columns)",
    "census": "Census of 1994 and 1995 (75,000 rows, 37 columns, many duplicates)",
    "diabetes": "Diabetes (one encounter for each patient, 30 columns)",
}


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """The risks of all trials, by metric and setting."""

    risks: object

    def mean(self, metric, setting):
        return self._of(metric, setting)["risk"].mean()

    def error(self, metric, setting):
        """Return the standard error of the mean."""
        return self._of(metric, setting)["risk"].sem()

    def detected(self, metric, setting):
        of_seeds = self._of(metric, setting)
        return (of_seeds["low"] > 0).mean() if len(of_seeds) else float("nan")

    def cell(self, metric, setting):
        if self._of(metric, setting).empty:
            return "not applicable"
        return f"{self.mean(metric, setting):.3f} ({self.detected(metric, setting):.2f})"

    def numbers(self, metric, settings):
        """Return the mean risk and the share detected for each setting in which the metric has an answer."""
        return {
            setting: {
                "risk": float(self.mean(metric, setting)),
                "detected": float(self.detected(metric, setting)),
            }
            for setting in settings
            if not self._of(metric, setting).empty
        }

    def _of(self, metric, setting):
        return self.risks.loc[
            (self.risks["metric"] == metric) & (self.risks["setting"] == setting) & self.risks["risk"].notna()
        ]


def settings(leaks):
    """Return the leaks without noise, then the noises at one leak (no noise is mostly among the leaks)."""
    behind = [
        Setting(name=noise, leak=BEHIND_NOISE, risk=risk)
        for noise, risk in NOISES.items()
        if noise != "none" or BEHIND_NOISE not in leaks
    ]
    return tuple([Setting(name=title(leak), leak=leak) for leak in leaks] + behind)


def title(leak):
    return f"{leak:.0%}" if leak else "no leak"


def real_columns(people):
    """Name the numbers that count as real."""
    return [
        column.name
        for column in people.schema.columns
        if isinstance(column, Numeric) and ALL_THREE.counts_as_real(column, people.column(column.name))
    ]


def table_of(found, metrics, columns):
    rows = [
        [f"`{metric}`", *(found.cell(metric, setting) for setting in columns.values())] for metric in metrics
    ]
    return markdown(["metric", *columns], rows)


def reached(found, metric, leaks):
    """Return a metric's line: what was measured where something was asked, and whether all of it holds."""
    asked = []
    if 0.0 in leaks:
        alarms, mean = found.detected(metric, "no leak"), found.mean(metric, "no leak")
        bias = f"{mean:.4f} ± {found.error(metric, 'no leak'):.4f}"
        asked += [(f"{alarms:.2f}", alarms <= MOST_FALSE_ALARMS), (bias, abs(mean) <= LARGEST_BIAS)]
    else:
        asked += [("", True), ("", True)]
    for setting in (title(SMALL_LEAK), *JUDGED):
        if metric in MUST_SEE and (setting in JUDGED or SMALL_LEAK in leaks):
            share = found.detected(metric, setting)
            asked.append((f"{share:.2f}", share >= LEAST_DETECTED))
        else:
            asked.append(("", True))
    cells = [text if held else f"**{text}**" for text, held in asked]
    return [f"`{metric}`", *cells, "yes" if all(held for _, held in asked) else "**no**"]


def page(found, *, table, real, metrics, leaks, n_rows, n_seeds):
    without = title(BEHIND_NOISE) if BEHIND_NOISE in leaks else "none"
    head = [
        "metric",
        f"detected at no leak (≤ {MOST_FALSE_ALARMS:g})",
        f"mean at no leak (± {LARGEST_BIAS:g})",
        f"detected at {SMALL_LEAK:.0%} (≥ {LEAST_DETECTED:g})",
        *(f"at {BEHIND_NOISE:.0%} behind {noise} (≥ {LEAST_DETECTED:g})" for noise in JUDGED),
        "reached",
    ]
    return PAGE.format(
        table=TITLES[table],
        n_seeds=n_seeds,
        n_rows=n_rows,
        leaks=table_of(found, metrics, {title(leak): title(leak) for leak in leaks}),
        behind=BEHIND_NOISE,
        sigma=SIGMA,
        real=", ".join(f"`{name}`" for name in real) or "none",
        noises=table_of(found, metrics, {name: without if name == "none" else name for name in NOISES}),
        alarms=MOST_FALSE_ALARMS,
        bias=LARGEST_BIAS,
        small=SMALL_LEAK,
        detected=LEAST_DETECTED,
        reached=markdown(head, [reached(found, metric, leaks) for metric in metrics]),
    )


def main(argv=None):
    parser = argparse.ArgumentParser(description="Measure what each metric can see.")
    parser.add_argument("--table", choices=samples.TABLES, default="adult")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--rows", type=int, default=4000, help="of train, of control and of the release")
    parser.add_argument("--metric", action="append", help="may be repeated; all by default")
    parser.add_argument("--leaks", type=float, nargs="*", default=LEAKS, help="shares, such as 0 0.01")
    parser.add_argument("--processes", type=int, help="as many as there are cores by default")
    parser.add_argument(
        "--out", help="where to write; docs/power.md by default, for other tables power_TABLE.md"
    )
    options = parser.parse_args(argv)

    metrics, leaks = trials.chosen(options.metric), tuple(dict.fromkeys(options.leaks))
    people = samples.TABLES[options.table]()
    trial = Trial(table=people, n_rows=options.rows, settings=settings(leaks), metrics=metrics)
    found = Outcomes(risks=trials.run(trial, options.seeds, processes=options.processes))
    text = page(
        found,
        table=options.table,
        real=real_columns(people),
        metrics=metrics,
        leaks=leaks,
        n_rows=options.rows,
        n_seeds=options.seeds,
    )
    print(text)
    name = "power.md" if options.table == "adult" else f"power_{options.table}.md"
    out = Path(options.out or DOCS / name)
    trials.write(text, out)
    numbers = {"leaks": {metric: found.numbers(metric, map(title, leaks)) for metric in metrics}}
    trials.write(json.dumps(numbers, indent=1) + "\n", out.with_suffix(".json"))


if __name__ == "__main__":
    main()
