"""Do the intervals hold what they promise? Fresh rows, many seeds: how often is zero inside?

It takes minutes, writes docs/coverage.md, and fails if a metric falls short.
"""

import argparse
import sys

import samples
import trials
from measure import markdown
from trials import DOCS, Setting, Trial

LEAST_COVERED = 0.93
SETTINGS = (Setting(name="equal"), Setting(name="small", control=1 / 3))

PAGE = """# Do the intervals hold?

`make check-coverage` writes this page. {n_seeds} seeded repetitions on Adult without duplicates: train,
control and release are disjoint sets of {n_rows:,} rows, and the release is the synthetic table. So nothing
leaks, and every risk is zero. Counted is how often the 95 % interval of a metric's risk holds zero, which at
least {least} of {n_seeds} must, and whether it else lies above zero (a false alarm) or below. Intervals that
are exact fall short of 93 of 100 about once in eight such tables; most are a little wide. The last column
but one repeats it with a control a third the size of train.

{table}
"""


def row(risks, metric, n_seeds):
    """Return a metric's line and whether it covers zero often enough."""
    mine = risks[(risks["metric"] == metric) & risks["risk"].notna()]
    equal, small = (mine[mine["setting"] == setting.name] for setting in SETTINGS)
    if equal.empty:
        return [f"`{metric}`", "not applicable", "", "", "", _covered(small), ""], True
    above, below = (equal["low"] > 0).sum(), (equal["high"] < 0).sum()
    covered = len(equal) - above - below
    held = bool(covered >= LEAST_COVERED * n_seeds)
    cells = [_covered(equal), str(above), str(below), f"{equal['risk'].mean():.4f}", _covered(small)]
    return [f"`{metric}`", *cells, "yes" if held else "**no**"], held


def _covered(risks):
    inside = ((risks["low"] <= 0) & (risks["high"] >= 0)).sum()
    return f"{inside} of {len(risks)}" if len(risks) else "not applicable"


def main(argv=None):
    parser = argparse.ArgumentParser(
        description="Count how often intervals cover zero where there is no leak."
    )
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--rows", type=int, default=3000, help="of train, of control and of the release")
    parser.add_argument("--metric", action="append", help="may be repeated; all by default")
    parser.add_argument("--processes", type=int, help="as many as there are cores by default")
    parser.add_argument("--out", default=DOCS / "coverage.md")
    options = parser.parse_args(argv)

    metrics = trials.chosen(options.metric)
    trial = Trial(table=samples.adult(), n_rows=options.rows, settings=SETTINGS, metrics=metrics)
    risks = trials.run(trial, options.seeds, processes=options.processes)
    lines, held = zip(*(row(risks, metric, options.seeds) for metric in metrics), strict=True)
    head = ["metric", "covers zero", "above", "below", "mean risk", "small control covers zero", "reached"]
    least = -int(-LEAST_COVERED * options.seeds // 1)
    text = PAGE.format(n_seeds=options.seeds, n_rows=options.rows, least=least, table=markdown(head, lines))
    print(text)
    trials.write(text, options.out)
    short = [metric for metric, enough in zip(metrics, held, strict=True) if not enough]
    return f"Falls short: {', '.join(short)}." if short else None


if __name__ == "__main__":
    sys.exit(main())
