"""Do our private generators keep their ε, and would the audit notice if they did not?

``python benchmarks/epsilon.py`` audits each as it is, and with noise off, noise halved and labels read from
the rows, ten minutes in all, and renews its table in docs/epsilon.md. ``--store FOLDER`` keeps the fits.
"""

import argparse
from pathlib import Path

import measure
from broken_generators import BROKEN, OFF, broken

from tabveil.core.storage.files import write_text
from tabveil.workflows.epsilon import audit_epsilon
from tabveil.workflows.epsilon.worlds import SETUPS

PAGE = measure.DOCS / "epsilon.md"
BEGIN, END = "<!-- measured by benchmarks/epsilon.py -->", "<!-- end of benchmarks/epsilon.py -->"
DELTA = 1e-5
KEPT, HALVED, OFF_, LABELS = "as it is", "noise halved", "noise off", "labels read from the rows"
HOW = {KEPT: {}, HALVED: {"noise_share": 0.5}, OFF_: {"noise_share": OFF}, LABELS: {"reads_domain": True}}
FITS = {KEPT: 600, HALVED: 600, OFF_: 200, LABELS: 200}
"""In each world: what is wrong in every release shows in few."""

CASES = (
    *((name, 1.0, way) for name in BROKEN for way in (KEPT, OFF_, LABELS)),
    *((name, 4.0, way) for name in BROKEN for way in (KEPT, HALVED)),
    *(("aim", 10.0, way) for way in (KEPT, HALVED)),
)
FURTHER = {("aim", 10.0): {"rounds": 4}}
"""Settings under which a large budget shows best."""

HEADER = [
    "generator", "ε promised", "variant", "tested fits a world", "AUC", "ε proven", "ε, if Gaussian",
    "found with 80 %", "state",
]  # fmt: skip


def one(name, epsilon, way, store):
    """Audit one variant; return a line."""
    found = audit_epsilon(
        broken(name, epsilon=epsilon, delta=DELTA, **HOW[way], **FURTHER.get((name, epsilon), {})),
        fits=FITS[way],
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
    """Audit all variants, and write the page."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--store", type=Path)
    given = asked.parse_args()
    lines = []
    for case in CASES:
        lines.append(one(*case, given.store))
        print(" | ".join(lines[-1]), flush=True)
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    write_text(PAGE, f"{text[:start]}\n\n{measure.markdown(HEADER, lines)}\n\n{text[end:]}")


if __name__ == "__main__":
    main()
