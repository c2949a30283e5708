"""How is a release audited from Python, and what do the numbers say?

Simulated patients stand in for your own tables: pandas, polars and Arrow tables and paths will all do. The
script audits a release, reads single numbers off the report, and writes it for machines and for people::

    python examples/audit_in_python.py --out audit
"""

import argparse
from pathlib import Path

import tabveil


def tables(n_rows):
    """Return train, synthetic and control; put your own here."""
    people = tabveil.datasets.hospital(3 * n_rows, seed=0)
    return (
        people.iloc[start : start + n_rows].reset_index(drop=True) for start in range(0, len(people), n_rows)
    )


def tell(report):
    """Print what the report says, from the verdict down to single numbers."""
    print(report.verdict.sentence)
    print()
    for item in report.verdict.risks:
        if item.value is None or item.high is None:
            print(f"{item.risk}: {item.state} ({item.reason})")
            continue
        print(
            f"{item.risk}: {item.state}; {item.value:.3f} measured, at most {item.high:.3f} by "
            f"{item.leading.metric} (threshold {item.threshold:g})"
        )
    print()
    columns = ["metric", "risk", "gain", "gain_low", "gain_high"]
    print(report.to_frame()[columns].round(3).to_string(index=False))
    for item in report.skipped:
        print(f"Not computed: {item.metric}: {item.reason}")


def usefulness(report):
    """Print each figure of utility beside what fresh real rows score."""
    for name, figure in report.utility.figures.items():
        reference = "" if figure.reference is None else f" (fresh real rows: {figure.reference.value:.3f})"
        print(f"{name}: {figure.value.value:.3f}{reference}")


def main(argv=None):
    """Run the audit as the options say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000, help="of train, of control and of the release")
    parser.add_argument("--out", type=Path, default=Path("audit"), help="a folder for the report")
    options = parser.parse_args(argv)

    train, synthetic, control = tables(options.rows)
    report = tabveil.audit(
        train,
        synthetic,
        control,
        policy={"recipient": "a research group", "thresholds": {"inference": 0.1}},
        attackers={"attackers": [{"name": "neighbor", "knows": ["age", "sex"], "wants": ["diagnosis"]}]},
        quick=True,
        utility=True,
        portrait=True,
        seed=0,
    )
    tell(report)
    print()
    usefulness(report)

    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "report.json").write_text(report.to_json(), encoding="utf-8")
    (options.out / "report.html").write_text(tabveil.html_page(report), encoding="utf-8")
    print(f"\nWritten: {options.out / 'report.json'} and {options.out / 'report.html'}")


if __name__ == "__main__":
    main()
