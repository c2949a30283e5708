"""Do our private generators keep their ε, and would the audit notice if they did not?

``python benchmarks/epsilon.py`` audits each as it is, and with noise off, noise halved and labels read from
the rows, ten minutes in all, and writes benchmarks/epsilon.md. ``--store FOLDER`` keeps the fits.
"""

import argparse
from pathlib import Path

from broken_generators import BROKEN, OFF, broken

from tabveil.epsilon import audit_epsilon
from tabveil.epsilon.setups import SETUPS
from tabveil.writing import write_text

PAGE = Path(__file__).with_name("epsilon.md")
DELTA = 1e-5
SUBTLE, CRUDE = 1000, 200
"""Fits a world: what is wrong in every release shows in few."""

WAYS = {
    "as it is": (SUBTLE, {}),
    "noise halved": (SUBTLE, {"noise_share": 0.5}),
    "noise off": (CRUDE, {"noise_share": OFF}),
    "labels read from the rows": (CRUDE, {"reads_domain": True}),
}
PROMISES = (1.0, 4.0)
HEADER = [
    "generator", "ε promised", "variant", "tested fits a world", "AUC", "ε proven", "ε, if Gaussian",
    "found with 80 %", "state",
]  # fmt: skip


def one(name, way, epsilon, store):
    """Audit one variant; return a line."""
    fits, how = WAYS[way]
    found = audit_epsilon(
        broken(name, epsilon=epsilon, delta=DELTA, **how),
        fits=fits,
        setup=SETUPS[name],
        seed=1,
        store=store,
    )
    seen = "none" if found.detectable is None else f"{found.detectable:.2f}"
    return [
        name, f"{epsilon:g}", way, f"{found.tested:,}", f"{found.area.value:.3f}", f"{found.proven:.2f}",
        f"{found.bounds['gaussian']:.2f}", seen, found.state,
    ]  # fmt: skip


def main():
    """Run all that was asked for, and write the page when it was all of it."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--generator", choices=[*BROKEN], action="append")
    asked.add_argument("--way", choices=[*WAYS], action="append")
    asked.add_argument("--epsilon", type=float, action="append")
    asked.add_argument("--store", type=Path)
    given = asked.parse_args()
    lines = []
    for name in given.generator or BROKEN:
        for epsilon in given.epsilon or PROMISES:
            for way in given.way or WAYS:
                lines.append(one(name, way, epsilon, given.store))
                print(" | ".join(lines[-1]), flush=True)
    if not (given.generator or given.way or given.epsilon):
        write_text(PAGE, page(lines))


def page(lines):
    """Return the page."""
    table = [HEADER, ["---"] * len(HEADER), *lines]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in table)
    return (
        "# Audits of ε\n\n"
        f"`python benchmarks/epsilon.py` makes this page: δ = {DELTA:g}, error 0.05; half of all fits choose "
        "the guess, half are tested. What the columns mean stands in [the documentation]"
        "(../docs/epsilon.md).\n\n"
        f"{rows}\n"
    )


if __name__ == "__main__":
    main()
