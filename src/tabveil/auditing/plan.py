"""What an audit will do, settled before any table is read, and what becomes of what it finds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tabveil.attackers import Attacker
from tabveil.auditing.choice import METRICS, Knowledge, by_attackers
from tabveil.auditing.exposure import exposed
from tabveil.auditing.extras import Extras, extra_steps
from tabveil.auditing.steps import Step, answer
from tabveil.detection import Power
from tabveil.explain import Explanation, explain
from tabveil.frame import LoadedTables
from tabveil.portrait import Portrait
from tabveil.protocols import Metric
from tabveil.report import Report
from tabveil.result import Result, Skipped
from tabveil.utility import Utility
from tabveil.verdict import Policy
from tabveil.version import __version__

NO_CONTROL = (
    "No control table: without real rows the generator never saw there is nothing to compare with, and "
    "little can be concluded. Run 'tabveil split' before training the next generator."
)

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Who attacks, by which policy, with which metrics, and what is measured beside."""

    policy: Policy
    knowledge: Knowledge
    attackers: tuple[Attacker, ...]
    metrics: Sequence[tuple[str, Metric]]
    extras: Extras
    seed: int
    settings: Mapping[str, Any]  # as they stand in the report

    def columns(self) -> list[str]:
        """Return every column that somebody named."""
        profiled = [name for attacker in self.attackers for name in attacker.columns()]
        return [*self.knowledge.columns(), *profiled, *self.extras.targets]

    def steps(self, loaded: LoadedTables) -> list[Step]:
        """Return what to do, in order: the metrics, each attacker's turn at them, and what else was asked."""
        confidence = self.policy.confidence
        names = [name for name, _ in self.metrics]
        anybody: list[tuple[str | None, Metric]] = [(None, metric) for _, metric in self.metrics]
        runs = [*anybody, *by_attackers(self.attackers, names, confidence=confidence)]
        return [
            *(
                Step(
                    title=metric.name,
                    attacker=attacker,
                    work=partial(answer, metric, loaded.split, self.seed, attacker),
                )
                for attacker, metric in runs
            ),
            *extra_steps(loaded, self.metrics, self.extras, confidence=confidence, seed=self.seed),
        ]

    def report(self, loaded: LoadedTables, found: Sequence[Any], seconds: float) -> Report:
        """Put together what the steps found."""
        results = tuple(item for item in found if isinstance(item, Result))
        return Report(
            version=__version__,
            seed=self.seed,
            inputs=loaded.inputs,
            results=results,
            skipped=tuple(item for item in found if isinstance(item, Skipped)),
            notes=(*(() if len(loaded.split.control) else (NO_CONTROL,)), *loaded.notes),
            explanations=self._explanations(),
            settings=self.settings,
            attackers=self.attackers,
            policy=self.policy,
            utility=_first(found, Utility),
            power=_first(found, Power),
            portrait=_first(found, Portrait),
            exposed=exposed(results, loaded) if self.extras.rare else None,
            seconds=seconds,
        )

    def _explanations(self) -> dict[str, Explanation]:
        """Explain every metric there is, also those that did not run, and those of the user's own."""
        own = {metric.name: type(metric) for _, metric in self.metrics}
        return {name: explain(metric) for name, metric in {**METRICS, **own}.items()}


def _first(found: Iterable[Any], kind: type[Found]) -> Found | None:
    return next((item for item in found if isinstance(item, kind)), None)
