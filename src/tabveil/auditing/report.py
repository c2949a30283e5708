"""What an audit hands over: everything it found, ready to be rendered or stored."""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tabveil.auditing import config
from tabveil.auditing.advice import Advice
from tabveil.auditing.attackers import Attacker
from tabveil.auditing.claimed_epsilon import ClaimedEpsilon
from tabveil.auditing.detection import PositiveControls, Power, Spreads
from tabveil.auditing.dictionary import Dictionary
from tabveil.auditing.findings import finding
from tabveil.auditing.initial import InitialRisk
from tabveil.auditing.judging import Grounds, judge
from tabveil.auditing.overview import LinkedOverview
from tabveil.auditing.policy import Policy
from tabveil.auditing.sampled import Sampled
from tabveil.auditing.verdict import BAD_CONTROL, NO_CONTROL, CopiesVerdict, RiskVerdict, Verdict
from tabveil.core import check
from tabveil.core.estimate import Estimate
from tabveil.core.findings import ESTIMATES
from tabveil.core.result import DroppedColumn, Input, Omission, Result
from tabveil.core.storage.files import Unreadable, parse_json, read_json, replacing, write_text
from tabveil.core.storage.plain import from_plain, to_plain
from tabveil.core.wording import (
    LONGEST_TITLE,
    PEOPLE,
    ROWS,
    clean,
    escaped,
    most_people,
    name,
    people,
    percent,
    upper_percent,
)
from tabveil.errors import ParameterError, told
from tabveil.metrics.black_box import ShadowResult
from tabveil.metrics.control import ControlCheck
from tabveil.metrics.control.copies import Copies
from tabveil.metrics.portrait import Portrait
from tabveil.metrics.properties import SplitProperties
from tabveil.metrics.registry import Explanation
from tabveil.metrics.traces import Traces
from tabveil.metrics.utility import Utility
from tabveil.tables.reading import dataframes
from tabveil.tables.reading.layout import Library, in_library

SCHEMA_VERSION = 1
"""Of the JSON report: it changes where a field is taken away or means something else (docs/stability.md)."""

RECORD_KINDS = (".csv", ".parquet")
"""How the names of files may end that hold the scores of single rows."""


@dataclass(frozen=True, kw_only=True)
class ExposedRows:
    """The training rows an attack succeeds on best, with their values. Sensitive: only when asked for."""

    metric: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # values as text, the row's number first

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"metric": self.metric, "columns": list(self.columns), "rows": to_plain(self.rows)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return from_plain(cls, data)


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """Everything an audit found: risks and their verdict; utility, detection power and pictures if asked."""

    version: str
    seed: int
    inputs: Mapping[str, Input]
    results: tuple[Result, ...]
    title: str = ""  # of the release, its data and who answers for it
    skipped: tuple[Omission, ...] = ()
    notes: tuple[str, ...] = ()
    dropped: tuple[DroppedColumn, ...] = ()  # columns that no metric was shown
    explanations: Mapping[str, Explanation] = field(default_factory=dict)  # of every metric, by name
    settings: Mapping[str, Any] = field(default_factory=dict)  # what a reader is told about the settings
    request: Mapping[str, Any] = field(default_factory=dict)  # all that was asked for, to ask it again
    attackers: tuple[Attacker, ...] = ()
    policy: Policy = field(default_factory=Policy)
    control: ControlCheck | None = None
    copies: Copies | None = None
    traces: Traces | None = None
    positive: PositiveControls | None = None  # attacks tried with planted people
    spread: Spreads | None = None  # how far the bounds that decide move with the seed
    utility: Utility | None = None
    power: Power | None = None
    portrait: Portrait | None = None
    properties: SplitProperties | None = None
    shadow: ShadowResult | None = None
    linked: LinkedOverview | None = None  # where tables are linked, and rows are people
    exposed: ExposedRows | None = None
    sampled: Sampled | None = None  # where a part of the people was asked
    advice: Advice | None = None  # where the verdict is above or inconclusive
    dictionary: Dictionary | None = None  # what each column holds, and what became of it
    initial: InitialRisk | None = None  # the training rows attacked as if they were released
    claim: ClaimedEpsilon | None = None  # whether the release refutes a stated ε
    seconds: float = 0.0
    given_verdict: Verdict | None = None  # the one that was stored, when read from JSON
    library: Library = Library.PANDAS  # that the user works with

    def __getitem__(self, key: str) -> Result:
        for result in self.results:
            if result.key == key:
                return result
        raise KeyError(key)

    def __repr__(self) -> str:
        """Say the verdict, and a line for each risk; all else is asked for by name."""
        verdict = self.verdict
        lines = [clean(self.title, LONGEST_TITLE)] if self.title else []
        lines += [verdict.sentence, *map(_risk_in_a_line, verdict.risks)]
        if verdict.copies is not None:
            lines.append(_copies_in_a_line(verdict.copies))
        return escaped("\n".join(lines))

    def titled(self, key: str) -> str:
        """Name a result in words; a file that somebody changed may lack it, and then its key is its name."""
        return next((result.full_title for result in self.results if result.key == key), name(key))

    @property
    def has_control(self) -> bool:
        """Whether there were real rows the generator never saw."""
        return "control" in self.inputs and self.inputs["control"].rows > 0

    @property
    def counted(self) -> str:
        """What attacks count: people where it is known whose row each is, else rows."""
        return "rows" if all(item.people is None for item in self.inputs.values()) else "people"

    @property
    def a_row(self) -> tuple[str, str]:
        """What one row and several are called: people where each row sums up all that is a person's."""
        return ROWS if self.linked is None else PEOPLE

    @property
    def verdict(self) -> Verdict:
        """The release judged by the policy; a stored report keeps the verdict it was stored with."""
        return self.given_verdict or judge(self.grounds, self.policy)

    @property
    def grounds(self) -> Grounds:
        """What the verdict is given on."""
        counted = {role: item.counted for role, item in self.inputs.items()}
        return Grounds(
            results=self.results,
            skipped=self.skipped,
            n_train=self.sampled.train if self.sampled else counted.get("train", 0),
            n_control=self.sampled.control if self.sampled else counted.get("control", 0),
            counted=self.counted,
            a_row=self.a_row,
            copies=self.copies,
            traces=() if self.traces is None else self.traces.found,
            positive=() if self.positive is None else self.positive.tried,
            control_faults=() if self.control is None else self.control.fails,
            titles={name: item.title for name, item in self.explanations.items()},
        )

    def to_json(self) -> str:
        """Return the report as JSON text; only ``seconds`` differs where the same was asked for."""
        parts = {name: getattr(self, name) for name in PARTS}
        return json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "tabveil": self.version,
                "title": self.title,
                "seed": self.seed,
                "inputs": {name: vars(item) for name, item in self.inputs.items()},
                "verdict": self.verdict.to_json(),
                "policy": self.policy.to_json(),
                "results": [result.to_json() for result in self.results],
                "skipped": [_skipped_to_json(item) for item in self.skipped],
                "notes": list(self.notes),
                "dropped": [to_plain(item) for item in self.dropped],
                "metrics": {name: to_plain(item) for name, item in self.explanations.items()},
                "settings": to_plain(self.settings),
                "request": self.request,
                "attackers": [attacker.model_dump(mode="json") for attacker in self.attackers],
                **{name: part.to_json() for name, part in parts.items() if part is not None},
                "seconds": self.seconds,
            },
            indent=2,
            allow_nan=False,
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild what :meth:`to_json` wrote (per-row scores are not part of it)."""
        return cls._of(parse_json(text.encode(), "the report"))

    @classmethod
    def _of(cls, data: Mapping[str, Any]) -> Self:
        if (form := data.get("schema_version", SCHEMA_VERSION)) != SCHEMA_VERSION:
            raise Unreadable(f"its schema_version is {told(form)}, this version reads {SCHEMA_VERSION}")
        return cls(
            version=from_plain(str, data["tabveil"]),
            title=from_plain(str, data["title"]),
            seed=from_plain(int, data["seed"]),
            inputs={name: from_plain(Input, item) for name, item in data["inputs"].items()},
            given_verdict=Verdict.from_json(data["verdict"]),
            policy=Policy(**data["policy"]),
            results=tuple(Result.from_json(item) for item in data["results"]),
            skipped=tuple(_skipped_from_json(item) for item in data["skipped"]),
            notes=from_plain(tuple[str, ...], data["notes"]),
            dropped=from_plain(tuple[DroppedColumn, ...], data.get("dropped", ())),
            explanations={name: from_plain(Explanation, item) for name, item in data["metrics"].items()},
            settings=from_plain(dict[str, Any], data["settings"]),
            request=from_plain(dict[str, Any], data["request"]),
            attackers=tuple(Attacker(**item) for item in data["attackers"]),
            **{name: kind.from_json(data[name]) for name, kind in PARTS.items() if name in data},
            seconds=from_plain(float, data["seconds"]),
        )

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a report from the JSON file an audit wrote."""
        where = Path(path).name
        try:
            check.ordinary_file("report", Path(path))
            return cls._of(read_json(Path(path)))
        except ParameterError:
            raise
        except FileNotFoundError:
            raise ParameterError(where, "there is no such file.") from None
        except OSError as error:
            raise ParameterError(where, f"cannot be read: {error.strerror}.") from None
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            why = f" ({error})" if isinstance(error, Unreadable) else ""
            raise ParameterError(
                where, f"not a report of this version of tabveil{why}; write one with 'tabveil audit --json'."
            ) from None

    def config(self, *, folder: Path | None = None) -> str:
        """Return the file that repeats this audit: ``tabveil audit --config FILE`` reads it.

        Paths are as they were given; for a file in another folder than the present one they are changed so
        that they lead to the same tables from there.
        """
        if not self.request:
            raise ParameterError("report", "it does not hold what the audit was asked for.")
        asked = self.request if folder is None else config.relocated(self.request, folder)
        return config.text(asked, self.inputs)

    def to_frame(self) -> Any:  # noqa: ANN401 - whichever library the user works with
        """Return one row a metric: its gain and its risk with the bounds of each, rates and labels.

        ``finding`` is what the metric found, in a word, and ``state`` what the policy makes of it; that is
        empty where no verdict rests on it. It is a table of the library that the training rows came in, and
        of pandas where they came from a file.
        """
        return in_library(self._frame(), self.library)

    def _frame(self) -> dataframes.DataFrame:
        judged = {item.metric: item.state for risk in self.verdict.risks for item in risk.metrics}
        return dataframes.from_rows(
            {
                "metric": result.key,
                **_bounded("gain", result.gain),
                **_bounded("risk", result.risk),
                "finding": finding(self, result.key),
                "state": judged.get(result.key, ""),
                **{
                    name: estimate.value if (estimate := getattr(result, name)) else math.nan
                    for name in ESTIMATES
                    if name not in {"risk", "gain"}
                },
                **vars(result.labels),
                "seconds": result.seconds,
            }
            for result in self.results
        )

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        columns = ["metric", "gain", "gain_low", "gain_high", "risk", "finding", "state", "pillar"]
        tables = [
            dataframes.from_columns({"verdict": [self.verdict.sentence]}),
            *([self._frame()[columns]] if self.results else []),
            dataframes.from_rows({"not computed": item.key, "reason": item.reason} for item in self.skipped),
            dataframes.from_columns({"notes": self.notes}),
        ]
        return "<p>Indicators are diagnostics, not evidence of anonymity.</p>" + dataframes.to_html(tables)

    def to_html(self, path: str | Path, *, brief: bool = False) -> None:
        """Write the page that ``tabveil audit --html`` writes, whole or not at all.

        An audit with ``utility``, ``power`` and ``portrait`` fills all of its sections; ``brief`` leaves out
        the annex, so that only the part to sign is there.
        """
        door: Any = sys.modules["tabveil"]  # it knows who draws a report, which the report does not
        write_text(Path(path), door.html_page(self, brief=brief), guarded=self.exposed is not None)

    def plot(self, figure: str = "risks") -> Any:  # noqa: ANN401 - tabveil.render.plot.Plot, which stands above
        """Draw one figure of the page for a notebook: it shows itself, and ``save("FILE.svg")`` writes it.

        There are ``risks``, ``membership``, ``roc``, ``columns``, ``power``, ``diagnostics``, ``distances``,
        ``map``, ``associations``, ``differences``, ``values of COLUMN`` and more, as far as the audit was
        asked for what they show; a name that is none is answered by all there are.
        """
        door: Any = sys.modules["tabveil"]  # as in to_html
        return door.plot_of_audit(self, figure)

    def sensitive_records(self) -> dataframes.DataFrame:
        """Return the per-row scores of every metric: metric, table, row, score. Sensitive."""
        parts = [
            dataframes.from_columns(
                {"metric": result.key, "table": scores.table, "row": scores.rows, "score": scores.values}
            )
            for result in self.results
            for scores in result.sensitive_scores
        ]
        nothing = dataframes.from_columns({"metric": [], "table": [], "row": [], "score": []})
        return dataframes.stack(parts) if parts else nothing

    def write_sensitive_records(self, path: str | Path) -> None:
        """Write :meth:`sensitive_records` to a CSV or Parquet file, whole or not at all: guard it."""
        target = records_file(path)
        with replacing(target, guarded=True) as temporary:
            if target.suffix.lower() == ".csv":
                self.sensitive_records().to_csv(temporary, index=False)
            else:
                self.sensitive_records().to_parquet(temporary, index=False)


def _bounded(name: str, found: Estimate | None) -> dict[str, float]:
    """Return a number with both of its bounds, under its name."""
    if found is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), math.nan)
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _risk_in_a_line(item: RiskVerdict) -> str:
    told = f"{item.risk}: {item.state}"
    if item.value is not None and item.high is not None and item.reason not in {BAD_CONTROL, NO_CONTROL}:
        most, accepted = most_people(item.high), people(item.threshold)
        told += f", {people(item.value)} of 100 people measured, at most {most} (accepted: {accepted})"
    return f"{told}; {item.reason}" if item.reason else told


def _copies_in_a_line(item: CopiesVerdict) -> str:
    told = f"copies: {item.state}"
    if item.proven:
        share, accepted = percent(item.found.proven_share), percent(item.threshold)
        told += f", {share} of the release proven without the control (accepted: {accepted})"
    elif item.value is not None and item.high is not None and item.reason not in {BAD_CONTROL, NO_CONTROL}:
        most, accepted = upper_percent(item.high), percent(item.threshold)
        told += f", {percent(item.value)} of the release measured, at most {most} (accepted: {accepted})"
    return f"{told}; {item.reason}" if item.reason else told


def _skipped_to_json(item: Omission) -> dict[str, Any]:
    return {"metric": item.key, "name": item.metric, "attacker": item.attacker, "reason": item.reason}


def _skipped_from_json(data: Mapping[str, Any]) -> Omission:
    return from_plain(
        Omission, {"metric": data["name"], "attacker": data["attacker"], "reason": data["reason"]}
    )


def records_file(path: str | Path) -> Path:
    """Refuse a name that does not say how scores of single rows are to be written."""
    if Path(path).suffix.lower() not in RECORD_KINDS:
        kinds = " or ".join(RECORD_KINDS)
        raise ParameterError("records", f"the name must end in {kinds}, got {Path(path).name}.")
    return Path(path)


PARTS: Mapping[str, Any] = {
    "control": ControlCheck,
    "copies": Copies,
    "traces": Traces,
    "positive": PositiveControls,
    "spread": Spreads,
    "utility": Utility,
    "power": Power,
    "portrait": Portrait,
    "properties": SplitProperties,
    "shadow": ShadowResult,
    "linked": LinkedOverview,
    "exposed": ExposedRows,
    "sampled": Sampled,
    "advice": Advice,
    "dictionary": Dictionary,
    "initial": InitialRisk,
    "claim": ClaimedEpsilon,
}
"""What an audit measures only when asked for; each knows its way to JSON and back."""
