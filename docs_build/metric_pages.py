"""A page for every metric, made from its docstring, its labels and what it was measured to see."""

import json
from collections.abc import Mapping
from pathlib import Path

from markdown_text import from_docstring, plain, table
from which_metric import beside_metrics

from tabveil.core.result import Labels
from tabveil.metrics.registry import METRICS, Explanation, explain

DOCS = Path(__file__).resolve().parents[1] / "docs"
RISKS = {"propensity": "none of the three"}


def pages() -> dict[str, str]:
    """Return the page of every metric, by its place in the site."""
    explained = {name: explain(metric) for name, metric in METRICS.items()}
    seen = json.loads((DOCS / "power.json").read_text(encoding="utf-8"))["leaks"]
    return {f"metrics/{name}.md": _page(item, seen.get(name)) for name, item in explained.items()}


def taxonomy() -> str:
    """Return the table of all metrics: what kind each is, which risk it measures, how, against whom."""
    rows = []
    for name, metric in METRICS.items():
        places = _places(metric.labels)
        rows.append([f"[`{name}`](metrics/{name}.md)", plain(explain(metric).question), *places.values()])
    return table(["metric", "question", *places], [*rows, *beside_metrics()])


def _places(labels: Labels) -> dict[str, str]:
    return {
        "pillar": labels.pillar,
        "WP29 risk": RISKS.get(labels.wp29, labels.wp29),
        "mechanism": labels.mechanism,
        "threat model": labels.threat_model,
        "auxiliary knowledge": "yes" if labels.auxiliary else "no",
    }


def _page(item: Explanation, seen: Mapping[str, Mapping[str, float]] | None) -> str:
    places = _places(item.labels)
    parts = [
        f"# `{item.name}`",
        f"**{plain(item.question)}**",
        table(list(places), [list(places.values())]),
        f"Needs the extra `{item.extra}`; run it with `--metrics {item.name}`." if item.extra else "",
        f"Runs where it is named: `--metrics {item.name}`." if item.on_request else "",
        *map(from_docstring, item.summary),
        *_titled("How it is measured", [from_docstring(text) for text in item.notes]),
        *_titled("Parameters", [_parameters(item)] if item.parameters else []),
        *_titled("What it was seen to detect", [_detected(seen)] if seen else []),
        *_titled("References", ["\n".join(f"- {from_docstring(text)}" for text in item.references)]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _titled(title: str, parts: list[str]) -> list[str]:
    return [f"## {title}", *parts] if any(parts) else []


def _parameters(item: Explanation) -> str:
    rows = [[f"`{name}`", f"`{default}`", from_docstring(text)] for name, default, text in item.parameters]
    return table(["parameter", "default", "meaning"], rows)


def _detected(seen: Mapping[str, Mapping[str, float]]) -> str:
    cells = [f"{found['risk']:.3f} ({found['detected']:.2f})" for found in seen.values()]
    return (
        "Mean answer (the gain of an attack, the risk of an indicator) for a known leak of Adult, and in "
        "parentheses the share of repetitions in which the leak was detected "
        "([how it was measured](../power.md)):\n\n" + table(list(seen), [cells])
    )
