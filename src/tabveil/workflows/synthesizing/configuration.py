"""What making a synthetic table is asked for in a file: the generator with its settings, and all around it.

>>> asked = read({"generator": "hybrid", "settings": {"sampling": 0.5}, "rows": 100})
>>> asked.generator, asked.settings, asked.rows
('hybrid', {'sampling': 0.5}, 100)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tabveil.core import check
from tabveil.core.check import nearest, quoted
from tabveil.core.settings import values, yaml_files
from tabveil.errors import SchemaError
from tabveil.synthesis.generators.hybrid.plain_settings import with_paths_from
from tabveil.workflows.perturbing import require_perturbation
from tabveil.workflows.steps import require_limits, require_shares
from tabveil.workflows.synthesizing.fresh_identifiers import Identifiers
from tabveil.workflows.synthesizing.learning import RareLabels

KEYS: Mapping[str, Any] = {
    "generator": str,
    "settings": Mapping[str, Any],
    "rows": int,
    "seed": int,
    "schema": str,
    "missing": tuple[str, ...],
    "rare_labels": RareLabels,
    "identifiers": Identifiers,
    "deduplicate": Mapping[str, Any],
    "pseudonymize": Mapping[str, Any],
    "perturb": Mapping[str, Any],
    "filter": Mapping[str, Any],
}
"""What may stand there, with its type."""

STEPS: Mapping[str, Mapping[str, Any]] = {
    "deduplicate": {"person": str, "most": int, "equal": bool},
    "pseudonymize": {"columns": tuple[str, ...], "texts": tuple[str, ...], "key": str, "style": str},
    "perturb": {
        "swap": tuple[str, ...],
        "within": tuple[str, ...],
        "share": float,
        "noise": float,
        "replace": float,
        "columns": tuple[str, ...],
    },
    "filter": {"near": float, "outliers": float},
}
"""What may be said about the steps before and after the generator, in their order; nothing asks for their
defaults."""


@dataclass(frozen=True, kw_only=True)
class SynthesisFile:
    """What a file says; None where it says nothing. Make one with :func:`read`."""

    generator: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: int | None = None
    seed: int | None = None
    schema: Path | None = None
    missing: tuple[str, ...] = ()
    rare_labels: RareLabels | None = None
    identifiers: Identifiers | None = None
    deduplicate: Mapping[str, Any] | None = None
    pseudonymize: Mapping[str, Any] | None = None
    perturb: Mapping[str, Any] | None = None
    filter: Mapping[str, Any] | None = None

    @property
    def person(self) -> str | None:
        """The column that says whose row it is, if a step names it."""
        person: str | None = (self.deduplicate or {}).get("person")
        return person

    @property
    def naming(self) -> tuple[str, ...]:
        """The columns that steps say name people: they tell nothing about how near two rows are."""
        hidden = (self.pseudonymize or {}).get("columns", ())
        return tuple(dict.fromkeys((*hidden, *([] if self.person is None else [self.person]))))


def read(source: str | Path | Mapping[str, Any]) -> SynthesisFile:
    """Read a file (YAML, JSON) or a mapping; paths in a file start at its folder."""
    where = yaml_files.place(source, "configuration")
    from_file = isinstance(source, (str, Path))
    said = yaml_files.load(Path(source), where) if isinstance(source, (str, Path)) else source
    folder = Path(source).parent if isinstance(source, (str, Path)) else Path()
    if not isinstance(said, Mapping):
        raise SchemaError(where, "the top level must hold settings, such as generator: hybrid.")
    _require_known(where, said, KEYS)
    if said.get("settings") and "generator" not in said:
        raise SchemaError(where, "settings belong to a generator; name it.")
    found = {key: values.read(where, key, value, KEYS[key]) for key, value in said.items()}
    _read_steps(where, found)
    for key, least in (("rows", 1), ("seed", 0)):
        if key in found:
            check.at_least(where, key, found[key], least)
    if "schema" in found:
        found["schema"] = folder / found["schema"]
    if "pseudonymize" in found:
        found["pseudonymize"]["key"] = folder / found["pseudonymize"]["key"]
    if "settings" in found and from_file:
        found["settings"] = with_paths_from(folder, found["settings"])
    return SynthesisFile(**found)


def _read_steps(where: str, found: dict[str, Any]) -> None:
    """Read what is said about steps, and refuse those that do nothing, before the long work begins."""
    for step, known in STEPS.items():
        if step in found:
            inside, said = f"{where}: {step}", found[step]
            _require_known(inside, said, known)
            if step == "pseudonymize" and "key" not in said:
                raise SchemaError(inside, "key is missing: a file of its own.")
            found[step] = {key: values.read(inside, key, value, known[key]) for key, value in said.items()}
    if "deduplicate" in found:
        require_limits(f"{where}: deduplicate", **found["deduplicate"])
    if "perturb" in found:
        require_perturbation(f"{where}: perturb", **found["perturb"])
    if "filter" in found:
        require_shares(f"{where}: filter", **found["filter"])


def refuse_steps(where: str, said: SynthesisFile) -> None:
    """Refuse steps around a generator, for those who look at the generator alone: none is left out unsaid."""
    for step in STEPS:
        if getattr(said, step) is not None:
            raise SchemaError(
                where,
                f"{step} is a step of 'tabveil synthesize' and 'tabveil pipeline' only; leave it out here.",
            )


def _require_known(where: str, said: Mapping[Any, Any], known: Mapping[str, Any]) -> None:
    for key in said:
        if key not in known:
            close = nearest(str(key), list(known))
            hint = f" Did you mean {quoted(close)}?" if close else f" Known: {', '.join(known)}."
            raise SchemaError(where, f"unknown key {quoted(key)}.{hint}")
