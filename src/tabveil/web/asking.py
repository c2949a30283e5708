"""An audit as a form: every option that the command line has, and the request that the form asks for.

The request is the one object that the command line makes, too, and the file that is written of it repeats it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from tabveil.auditing import config
from tabveil.auditing.attackers import Attacker
from tabveil.auditing.options import OPTIONS, AuditOptions
from tabveil.auditing.policy import COMMON_THRESHOLDS, RISKS, Policy
from tabveil.auditing.request import ON_A_PAGE, TABLES, AuditRequest
from tabveil.core import check
from tabveil.core.settings import values, yaml_files
from tabveil.core.wording import begin
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.registry import METRICS, MetricChoice
from tabveil.web.forms import USUAL, Field, Form, choices_of, label_of, lines, one, verbatim, written

ELSEWHERE = ("train", "synthetic", "control", "column_types", "missing")
"""Options that are answered on other pages of a project."""

NOT_ASKED = ("scheduler",)
"""Options that no form has: nothing leaves this machine."""

MOST_ATTACKERS = 20
_PAIRS = tuple[tuple[tuple[str, ...], ...], ...]
_YES_NO = (("true", "yes"), ("false", "no"))
_FLAGS = tuple(name for name, kind in get_type_hints(AuditOptions).items() if kind is bool)
_ASKED = tuple(
    name for name, option in OPTIONS.items() if option.help and name not in (*ELSEWHERE, *NOT_ASKED)
)
ROLES = tuple(name for name in _ASKED if OPTIONS[name].metavar == "COLUMN" and OPTIONS[name].repeatable)
"""What a column can be for an audit, by the option that lists such columns."""

_OWN = ("metrics", "attackers", "policy", *ROLES)
"""Options that have a part of the form of their own."""

LISTS_OF_METRICS = "metrics_with_settings"


@dataclass(frozen=True, kw_only=True)
class AuditForm:
    """What an audit's form shows: its fields, with what stands in them."""

    policy: tuple[Field, ...]
    roles: Mapping[str, frozenset[str]]
    metrics: tuple[str, ...]
    metric_settings: str
    attackers: tuple["AttackerFields", ...]
    more: tuple[Field, ...]

    @classmethod
    def of(cls, said: Mapping[str, Any], columns: Sequence[str], files: Sequence[str]) -> "AuditForm":
        """Show what an earlier request says, as plain data, or nothing in particular."""
        request = _request({**said, "train": "train", "synthetic": "synthetic"}, none_of=("shadow", "schema"))
        chosen = request.metrics or ()
        plain = tuple(item.name for item in chosen if isinstance(item, MetricChoice) and not item.parameters)
        with_settings = [
            item for item in config.written(request).get("metrics", ()) if isinstance(item, Mapping)
        ]
        profiles = [AttackerFields.of(profile) for profile in request.attackers]
        return cls(
            policy=policy_fields(request.judged_by),
            roles={name: frozenset(getattr(request, name) or ()) for name in ROLES},
            metrics=plain,
            metric_settings="\n".join(_flow(item) for item in with_settings),
            attackers=(*profiles, *_EMPTY[: max(MOST_ATTACKERS - len(profiles), 0)]),
            more=tuple(_field(name, request, said, columns, files) for name in _ASKED if name not in _OWN),
        )

    def filled(self, form: Form) -> "AuditForm":
        """Return the same with what somebody wrote in it: nothing is lost where a part cannot be read."""
        places = range(max(len(self.attackers), MOST_ATTACKERS))
        profiles = [AttackerFields.sent(form, place) for place in places]
        return AuditForm(
            policy=tuple(field.filled(form) for field in self.policy),
            roles={name: frozenset(form.get(name, ())) for name in ROLES},
            metrics=tuple(form.get("metrics", ())),
            metric_settings=one(form, LISTS_OF_METRICS),
            attackers=tuple(profile for profile in profiles if profile != AttackerFields()) + _EMPTY,
            more=tuple(field.filled(form) for field in self.more),
        )


@dataclass(frozen=True, kw_only=True)
class AttackerFields:
    """An attacker's profile, as it stands in a form."""

    name: str = ""
    knows: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()
    links: str = ""

    @classmethod
    def of(cls, profile: Attacker) -> "AttackerFields":
        """Show a profile."""
        links = _pair_text(profile.links) if profile.links else ""
        return cls(name=profile.name, knows=profile.knows or (), wants=profile.wants or (), links=links)

    @classmethod
    def sent(cls, form: Form, place: int) -> "AttackerFields":
        """Read the fields of one place in the form."""
        own = f"attacker.{place}."
        knows, wants = (tuple(form.get(f"{own}{what}", ())) for what in ("knows", "wants"))
        return cls(name=one(form, f"{own}name"), knows=knows, wants=wants, links=one(form, f"{own}links"))

    def plain(self) -> dict[str, Any]:
        """Say it as a file does."""
        if not self.name:
            raise ParameterError("attackers", "give each attacker a name.")
        said: dict[str, Any] = {"name": self.name}
        said |= {what: list(names) for what, names in (("knows", self.knows), ("wants", self.wants)) if names}
        if self.links:
            found = values.read("attackers", "links", self.links, _PAIRS)
            if len(found) != 1:
                raise ParameterError("attackers", "links must look like 'age,sex|zip,job'.")
            said["links"] = [list(side) for side in found[0]]
        return said


_EMPTY = (AttackerFields(), AttackerFields())


def policy_fields(policy: Policy) -> tuple[Field, ...]:
    """Return the fields of a policy, in the order of its file."""
    thresholds = tuple(
        Field(
            name=f"policy.thresholds.{risk.replace(' ', '_')}",
            label=f"Accepted: {risk}",
            value=f"{policy.thresholds.of(risk):g}",
            kind="number",
        )
        for risk in RISKS
    )
    return (
        Field(name="policy.recipient", label="Recipient", value=policy.recipient, help="Who receives it."),
        Field(name="policy.context", label="Context", value=policy.context, help="How they may use it."),
        *thresholds,
        Field(
            name="policy.copies",
            label="Accepted: copies",
            value=f"{policy.copies:g}",
            kind="number",
            help="The largest share of the release that may be copies, beyond what chance explains.",
        ),
        Field(
            name="policy.confidence",
            label="Confidence",
            value=f"{policy.confidence:g}",
            kind="number",
            help="Of every interval.",
        ),
        Field(
            name="policy.required",
            label="Must have run and answered",
            kind="many",
            chosen=policy.required,
            choices=tuple(
                (name, metric.title) for name, metric in METRICS.items() if metric.labels.pillar == "attack"
            ),
        ),
    )


def told(name: str) -> str:
    """Return what an option means, for a form: it has as many places as are needed.

    >>> told("known")
    'A column attackers know of a person. Else all others.'
    """
    sentences = OPTIONS[name].help.replace("Repeatable; ", "Repeatable. ").split(". ")
    return ". ".join(begin(sentence) for sentence in sentences if sentence.rstrip(".") != "Repeatable")


def templates() -> dict[str, Policy]:
    """Return policies to begin with, by what they accept."""
    return {f"{most:g}": Policy().with_threshold(most) for most in (*reversed(COMMON_THRESHOLDS),)}


def plain(form: Form, columns: Sequence[str], tables: Mapping[str, Path | str]) -> dict[str, Any]:
    """Return plain data that ask for what a form asks for, as a file would, with the paths of ``tables``."""
    said: dict[str, Any] = {key: str(value) for key, value in tables.items()}
    said["policy"] = _policy(form)
    for name in ROLES:
        if picked := list(form.get(name, ())):
            check.known_names(name, "column", picked, columns)
            said[name] = picked
    profiles = [AttackerFields.sent(form, place) for place in range(MOST_ATTACKERS)]
    if attackers := [profile.plain() for profile in profiles if profile != AttackerFields()]:
        said["attackers"] = attackers
    own = [yaml_files.parse(line, "metrics") for line in lines(form, LISTS_OF_METRICS)]
    if metrics := [*form.get("metrics", ()), *own]:
        said["metrics"] = metrics
    for name in _ASKED:
        if name not in _OWN and (value := _value(form, name)) is not None:
            said[OPTIONS[name].name or name] = value
    return said


def words(request: AuditRequest) -> tuple[str, ...]:
    """Return the options of a request that its file leaves out: what the machine may give."""
    fields = AuditRequest.model_fields
    given = {name: getattr(request, name) for name in config.OF_THE_MACHINE}
    asked = ((f"--{name}", str(value)) for name, value in given.items() if value != fields[name].default)
    return tuple(word for pair in asked for word in pair)


def request_file(said: Mapping[str, Any], folder: Path) -> tuple[AuditRequest, str]:
    """Return the request of plain data with full paths, and the file in a folder that repeats it."""
    request = _request(said)
    asked = {
        key: os.path.relpath(value, folder) if key in (*TABLES, "schema", "shadow") else value
        for key, value in config.written(request).items()
    }
    return request, config.text(asked, {})


def _request(said: Mapping[str, Any], none_of: tuple[str, ...] = ()) -> AuditRequest:
    return AuditRequest.read({key: value for key, value in said.items() if key not in none_of})


def _value(form: Form, name: str) -> Any:  # noqa: ANN401 - as a file would say it
    """Read one option; None where it is left as it is."""
    option, text = OPTIONS[name], one(form, name)
    if option.metavar == "COLUMN":
        text = verbatim(form, name)
    if text in {USUAL, "usual"}:
        return None
    if name == "auxiliary":
        return [
            tuple(map(list, pair)) for pair in values.read(name, "pairs", ";".join(lines(form, name)), _PAIRS)
        ]
    if option.switches:
        found = values.read("audit", name, text, bool)
        return None if found is AuditRequest.model_fields[name].default and name not in ON_A_PAGE else found
    if option.metavar == "N":
        return values.read("audit", name, text, int)
    return text


def _field(
    name: str, request: AuditRequest, said: Mapping[str, Any], columns: Sequence[str], files: Sequence[str]
) -> Field:
    """Return the field of one option, with what the request says."""
    option = OPTIONS[name]
    key = option.name or name
    label, default = label_of(key), AuditRequest.model_fields[name].default
    value = getattr(request, name)
    if name in ON_A_PAGE:
        return Field(
            name=name, label=label, kind="choice", help=option.help, choices=((USUAL, "as usual"), *_YES_NO),
            value=str(value is not False).lower() if name in said else USUAL,
        )  # fmt: skip
    if option.switches:
        return Field(
            name=name, label=label, kind="choice", help=option.help, choices=_YES_NO,
            value=str(bool(value)).lower(),
        )  # fmt: skip
    if option.metavar == "FILE":
        return Field(
            name=name, label=label, kind="choice", help=option.help, value=str(said.get(key, "")),
            choices=(("", "none"), *choices_of(file for file in files if file.endswith(".json"))),
        )  # fmt: skip
    if option.metavar == "COLUMN":
        return Field(
            name=name, label=label, kind="choice", help=option.help, value=value or "",
            choices=(("", "none"), *choices_of(columns)),
        )  # fmt: skip
    if name == "device":
        return Field(
            name=name, label=label, kind="choice", help=option.help, value=value,
            choices=choices_of(("auto", "cpu", "cuda")),
        )  # fmt: skip
    text = (
        "\n".join(map(_pair_text, value or ()))
        if name == "auxiliary"
        else written(value)
        if value != default
        else ""
    )
    return Field(
        name=name,
        label=label,
        kind="lines" if option.repeatable else "number" if option.metavar == "N" else "text",
        help=option.help.replace("Repeatable.", "One a line."),
        value=text,
    )


def _policy(form: Form) -> dict[str, Any]:
    """Read the fields of a policy; what is as usual is left out."""
    said: dict[str, Any] = {"thresholds": {}}
    usual = Policy().to_json()
    for key in ("recipient", "context", "confidence", "copies"):
        text = one(form, f"policy.{key}")
        if text:
            said[key] = text if isinstance(usual[key], str) else values.read("policy", key, text, float)
    for key in usual["thresholds"]:
        text = one(form, f"policy.thresholds.{key}")
        if text:
            said["thresholds"][key] = values.read("policy", key, text, float)
    said["required"] = list(form.get("policy.required", ()))
    return said


def _pair_text(pair: tuple[tuple[str, ...], ...]) -> str:
    return "|".join(",".join(side) for side in pair)


def _flow(item: Mapping[str, Any]) -> str:
    import json  # noqa: PLC0415 - seldom; JSON is YAML in one line

    return json.dumps(item, ensure_ascii=False)


def read_file(path: Path) -> dict[str, Any]:
    """Return what an earlier request says, as plain data; nothing where it cannot be read."""
    try:
        said = yaml_files.load(path, "audit")
    except TabveilError:
        return {}
    return dict(said) if isinstance(said, Mapping) else {}
