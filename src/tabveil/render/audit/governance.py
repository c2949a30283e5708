"""Who decided what: the policy's fields on the part to sign, and the columns with their treatment."""

from collections.abc import Iterator
from dataclasses import dataclass

from tabveil.auditing.dictionary import TREATMENTS, DictionaryEntry
from tabveil.auditing.policy import RELEASE_MODELS, Policy
from tabveil.auditing.report import Report
from tabveil.core.wording import joined, level, listed
from tabveil.render.audit.view import DROPPED

ASKED = {
    "purpose": "Purpose",
    "release_model": "Model of release",
    "sensitivity": "Sensitivity",
    "generator": "Generator",
    "earlier_releases": "Earlier releases",
    "review_date": "To be reviewed",
    "responsible": "Responsible",
    "second_signatory": "Second signatory",
}
"""What a signer is told of a release beside its recipient and context, where the policy says it."""


def stated(policy: Policy) -> list[tuple[str, str]]:
    """Return what the policy says of the release: the name of each field, and its words."""
    said = {
        "purpose": policy.purpose,
        "release_model": _model(policy),
        "sensitivity": policy.sensitivity or "",
        "generator": " ".join(filter(None, (policy.generator, policy.generator_version))),
        "earlier_releases": listed(policy.earlier_releases),
        "review_date": "" if policy.review_date is None else policy.review_date.isoformat(),
        "responsible": policy.responsible,
        "second_signatory": policy.second_signatory,
    }
    return [(ASKED[key], words) for key, words in said.items() if words]


def facts(policy: Policy) -> list[tuple[str, str]]:
    """Return what stands beside recipient and context; dates and names stand where somebody signs."""
    signed = {ASKED[key] for key in ("review_date", "responsible", "second_signatory")}
    return [(title, words) for title, words in stated(policy) if title not in signed]


def unstated(policy: Policy) -> str:
    """Name the fields that nobody filled in; nothing where all are."""
    told = {title for title, _ in stated(policy)}
    missing = [title.lower() for title in ASKED.values() if title not in told]
    return joined(missing) if missing else ""


def _model(policy: Policy) -> str:
    model = policy.release_model
    return "" if model is None else f"{model}: {RELEASE_MODELS[model]}"


@dataclass(frozen=True, kw_only=True)
class DictionaryRow:
    """One column as a dictionary lists it."""

    name: str
    type: str
    holds: str
    missing: str
    treatment: str


def column_rows(report: Report) -> list[DictionaryRow]:
    """Return what each column holds, and what became of it."""
    return [] if report.dictionary is None else [_row(item) for item in report.dictionary.columns]


def _row(item: DictionaryEntry) -> DictionaryRow:
    if item.treatment == "left out":
        why = DROPPED.get(item.type, "")
        return DictionaryRow(
            name=item.name, type="-", holds="-", missing="-", treatment=f"{TREATMENTS['left out']}. {why}"
        )
    roles = f"; {joined(item.roles)}" if item.roles else ""
    shares = [level(share) for share in (item.missing, item.missing_released) if share is not None]
    return DictionaryRow(
        name=item.name,
        type=item.type,
        holds="; ".join(_held(item)) or "values that too few people share to be shown",
        missing=" / ".join(shares),
        treatment=f"{TREATMENTS[item.treatment]}{roles}",
    )


def _held(item: DictionaryEntry) -> Iterator[str]:
    if item.low and item.high:
        yield f"from below {item.low} to {item.high} or more"
    elif item.low or item.high:
        yield f"about {item.low or item.high}"
    if item.labels:
        yield f"{listed(item.labels, most=15)}{' and others' if item.more else ''}"
