"""What an audit is asked for: one validated object, whether it comes from Python, a file or a form.

>>> request = AuditRequest.read({"train": "t.csv", "synthetic": "s.csv", "quick": True}, seed=3)
>>> request.quick, request.seed, request.power, request.for_page().power
(True, 3, False, 'affordable')
"""

import operator
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from tabveil.auditing import attackers
from tabveil.auditing.attackers import Attacker
from tabveil.auditing.claimed_epsilon import NeighborTables, Promise
from tabveil.auditing.options import OPTIONS, AuditOptions, Columns
from tabveil.auditing.policy import Policy, read_policy
from tabveil.auditing.sampled import required
from tabveil.core import check
from tabveil.core.check import nearest
from tabveil.core.settings import values, yaml_files
from tabveil.core.settings.registry import completed, make
from tabveil.core.settings.yaml_files import Strict
from tabveil.core.wording import LONGEST_TITLE, clean
from tabveil.core.workers import Device
from tabveil.engines.representation import Contrastive
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.black_box import ShadowResult
from tabveil.metrics.registry import METRICS, Knowledge, MetricChoice, read_setting
from tabveil.protocols import Metric
from tabveil.tables.linked import Database, read_database
from tabveil.tables.linked.database_file import ROLES
from tabveil.tables.lot import SplitRecord
from tabveil.tables.reading import declare
from tabveil.tables.reading.declare import SchemaFile

Source = str | Path | Mapping[str, Any] | None

Title = Annotated[str, Field(max_length=LONGEST_TITLE), AfterValidator(lambda text: " ".join(text.split()))]

TABLES = ("train", "synthetic", "control")
MOST_CLAIMED = 30.0
"""A larger ε promises nothing that could be refuted."""

ON_A_PAGE: Mapping[str, Any] = {"utility": True, "power": "affordable", "portrait": True}
"""What a page shows beside risks: brought with it, unless something else was decided."""

_CALLED = {field: option.name or field for field, option in OPTIONS.items()}
_FILES = tuple(_CALLED[field] for field, option in OPTIONS.items() if option.metavar == "FILE")
_FLAGS = tuple(field for field, kind in get_type_hints(AuditOptions).items() if kind is bool)
_MEANING = {"train": "the real rows the generator learned from", "synthetic": "the rows to be released"}
_BY_NAME = "audit"  # who complains about what was given by name


class AuditRequest(Strict, AuditOptions):
    """Everything an audit is asked for; see :func:`tabveil.audit` for what each setting means.

    Make one with :meth:`read`, which tells a fault in one line. Tables are paths, or tables of any dataframe
    library.
    """

    model_config = ConfigDict(alias_generator=lambda field: _CALLED.get(field, field))
    title: Title = ""

    @classmethod
    def read(cls, source: Source = None, **given: Any) -> Self:  # noqa: ANN401 - checked by the fields
        """Make a request from a file (YAML, JSON) or a mapping, and from what is given by name.

        What is given by name replaces what the source says; None says nothing. Relative paths in a file start
        at the folder of the file.
        """
        where = _BY_NAME if source is None else yaml_files.place(source, "config")
        asked = _with_databases(_gathered(source, given))
        for role, meaning in _MEANING.items():
            if role not in asked:
                raise ParameterError(where, f"{role} is missing: {meaning}.")
        owners = {key: _BY_NAME if given.get(key) is not None else where for key in asked}
        try:
            return cls.model_validate(asked, context=owners)
        except ValidationError as error:
            raise _complaint(error, owners, where) from None

    @field_validator(*TABLES, mode="before")
    @classmethod
    def _table(cls, value: Any) -> Any:  # noqa: ANN401 - a path or a table of any dataframe library
        return Path(value) if isinstance(value, str) else value

    @field_validator("column_types", mode="before")
    @classmethod
    def _types(cls, value: Any) -> Path | SchemaFile:  # noqa: ANN401 - a path or plain data
        """Keep a file as its path: the labels that it lists do not belong in a report."""
        return Path(value) if isinstance(value, (str, Path)) else declare.read(value)

    @field_validator(*_FLAGS, mode="before")
    @classmethod
    def _flag(cls, value: object, info: ValidationInfo) -> Any:  # noqa: ANN401 - true or false
        return values.read(_owner(info), _key(info), value, bool)

    @field_validator("contrastive", mode="before")
    @classmethod
    def _space(cls, value: object, info: ValidationInfo) -> Contrastive | None:
        if isinstance(value, Contrastive):
            return value
        if isinstance(value, Mapping):
            return make(Contrastive, value, read_setting)
        return Contrastive() if values.read(_owner(info), _key(info), value, bool) else None

    @field_validator("power", mode="before")
    @classmethod
    def _power(cls, value: object, info: ValidationInfo) -> Any:  # noqa: ANN401 - as the field says
        return values.read(_owner(info), _key(info), value, bool | Literal["affordable"])

    @field_validator("device", mode="before")
    @classmethod
    def _device(cls, value: object, info: ValidationInfo) -> Any:  # noqa: ANN401 - as the field says
        return values.read(_owner(info), _key(info), value, Device)

    @field_validator("missing", "target", "drop", mode="before")
    @classmethod
    def _texts(cls, value: object, info: ValidationInfo) -> Columns:
        return _as_texts(_owner(info), _key(info), [value] if isinstance(value, str) else value)

    @field_validator("secrets", "known", "quasi_identifiers", "sensitive", mode="before")
    @classmethod
    def _columns(cls, value: object, info: ValidationInfo) -> Columns:
        if isinstance(value, str):
            raise ParameterError(
                _owner(info), f"{_key(info)} must be a list of columns, got the text {value!r}."
            )
        return _as_texts(_owner(info), _key(info), value)

    @field_validator("quasi_identifiers", "sensitive")
    @classmethod
    def _once(cls, value: Columns) -> Columns:
        return tuple(dict.fromkeys(value))

    @field_validator("sensitive")
    @classmethod
    def _apart(cls, value: Columns, info: ValidationInfo) -> Columns:
        """Refuse sensitive columns without quasi-identifiers, and such that are both."""
        others = info.data.get("quasi_identifiers", ())
        if value and not others:
            raise ParameterError(
                _owner(info),
                "sensitive columns are measured where quasi-identifiers are equal; name "
                "quasi_identifiers, too.",
            )
        both = [name for name in value if name in others]
        if both:
            raise ParameterError(
                _owner(info), f"column {both[0]!r} is sensitive and a quasi-identifier; it can be one."
            )
        return value

    @field_validator("auxiliary", mode="before")
    @classmethod
    def _pairs(cls, value: Any, info: ValidationInfo) -> tuple[tuple[Columns, Columns], ...]:  # noqa: ANN401 - checked here
        owner, key = _owner(info), _key(info)
        try:
            return tuple((_as_texts(owner, key, one), _as_texts(owner, key, other)) for one, other in value)
        except (TypeError, ValueError):
            raise ParameterError(
                owner, f"{key} must be pairs of lists of columns, such as [[age, sex], [zip, job]]."
            ) from None

    @field_validator("metrics", mode="before")
    @classmethod
    def _metrics(cls, value: Any, info: ValidationInfo) -> tuple[MetricChoice | Metric, ...]:  # noqa: ANN401 - checked here
        """Turn names, mappings, classes and objects into choices and objects; equal ones count once."""
        alone = isinstance(value, (str, Mapping)) or callable(value) or not isinstance(value, Iterable)
        items = [value] if alone else list(value)
        if not items:
            raise ParameterError(_owner(info), "metrics is empty; leave it out to run all of them.")
        found: list[MetricChoice | Metric] = []
        for item in items:
            if (metric := _metric(_owner(info), item)) not in found:
                found.append(metric)
        return tuple(found)

    @field_validator("attackers", mode="before")
    @classmethod
    def _profiles(cls, value: Any) -> tuple[Attacker, ...]:  # noqa: ANN401 - a path or plain data
        return attackers.read(value)

    @field_validator("policy", mode="before")
    @classmethod
    def _agreed(cls, value: Any) -> Policy:  # noqa: ANN401 - a path or plain data
        policy = read_policy(value)
        check.known_names("policy", "required metric", policy.required, METRICS)
        return policy

    @field_validator("tables", "metadata", mode="before")
    @classmethod
    def _linked(cls, value: Any) -> Any:  # noqa: ANN401 - a path, plain data or a Database
        """Keep how tables hang together, and no rows."""
        match value:
            case str():
                return Path(value)
            case Database():
                return replace(value, given={})
            case Mapping():
                return {key: item for key, item in value.items() if key not in ROLES}
        return value

    @field_validator("person", "person_table", "scheduler", mode="before")
    @classmethod
    def _named(cls, value: object, info: ValidationInfo) -> str:
        if not isinstance(value, str):
            what = {"person": "name of a column", "person_table": "name of a table"}.get(
                _key(info), "address of a Dask scheduler"
            )
            kind = type(value).__name__
            raise ParameterError(_owner(info), f"{_key(info)} must be the {what}, got {kind}.")
        return value

    @field_validator("seed", "threads", mode="before")
    @classmethod
    def _number(cls, value: Any, info: ValidationInfo) -> int:  # noqa: ANN401 - checked here
        key = _key(info)
        try:
            number = operator.index(value)
        except TypeError:
            kind = type(value).__name__
            raise ParameterError(_owner(info), f"{key} must be a whole number, got {kind}.") from None
        check.at_least(_owner(info), key, number, 0 if key == "seed" else 1)
        return number

    @field_validator("memory", mode="before")
    @classmethod
    def _bytes(cls, value: object, info: ValidationInfo) -> int:
        return values.read_size(_owner(info), _key(info), value)

    @field_validator("sample", mode="before")
    @classmethod
    def _people(cls, value: object, info: ValidationInfo) -> int:
        return required(_owner(info), cls._number(value, info))

    @field_validator("claimed_epsilon", "delta", mode="before")
    @classmethod
    def _stated(cls, value: object, info: ValidationInfo) -> float:
        owner, key = _owner(info), _key(info)
        number = float(values.read(owner, key, value, float))
        if key == "delta":
            check.below_one(owner, key, number)
        else:
            check.between(owner, key, number, 0, MOST_CLAIMED)
        return number

    @field_validator("neighbors", mode="before")
    @classmethod
    def _neighbors(cls, value: object, info: ValidationInfo) -> Any:  # noqa: ANN401 - as the field says
        return values.read(_owner(info), _key(info), value, NeighborTables)

    @field_validator("split", mode="before")
    @classmethod
    def _divided(cls, value: object) -> Path | SplitRecord:
        """Keep a file as its path, so that the audit can be repeated; refuse one that cannot be read."""
        record = SplitRecord.read(value)
        return Path(value) if isinstance(value, (str, Path)) else record

    @field_validator("shadow", mode="before")
    @classmethod
    def _attacked(cls, value: object, info: ValidationInfo) -> Path | ShadowResult:
        """Keep a file as its path, so that the audit can be repeated; refuse one that cannot be read."""
        if isinstance(value, ShadowResult):
            return value
        if not isinstance(value, (str, Path)):
            kind = type(value).__name__
            raise ParameterError(_owner(info), f"shadow must be a file, or what an attack found, got {kind}.")
        ShadowResult.read(value)
        return Path(value)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Show no table, nor what an attack found."""
        return [item for item in super().__repr_args__() if item[0] not in (*TABLES, "shadow")]

    @property
    def attacked(self) -> ShadowResult | None:
        """What somebody who owns the generator found out, if it was given."""
        return ShadowResult.read(self.shadow) if isinstance(self.shadow, Path) else self.shadow

    @property
    def promise(self) -> Promise | None:
        """What the generator states, if that is to be tested."""
        if self.claimed_epsilon is None:
            return None
        return Promise(epsilon=self.claimed_epsilon, delta=self.delta, neighbors=self.neighbors)

    @property
    def database(self) -> Database | None:
        """How linked tables hang together, and where they are; None where each table is one file."""
        if self.tables is None and self.metadata is None:
            return None
        given = {role: getattr(self, role) for role in TABLES}
        return read_database(self.tables, metadata=self.metadata, person=self.person_table, **given)

    @property
    def judged_by(self) -> Policy:
        """The policy that the verdict follows."""
        return self.policy or Policy()

    @property
    def knowledge(self) -> Knowledge:
        """What attackers know and want, as far as it was said."""
        return Knowledge(
            secrets=self.secrets,
            known=self.known,
            auxiliary=self.auxiliary,
            confidence=self.judged_by.confidence,
        )

    @property
    def sensitive_columns(self) -> Columns:
        """What is counted where quasi-identifiers are equal: the columns named so, else secrets."""
        if self.sensitive is not None:
            return self.sensitive
        return tuple(name for name in dict.fromkeys(self.secrets or ()) if name not in self.quasi_identifiers)

    def columns(self) -> Columns:
        """Return every column that somebody named."""
        profiled = [name for attacker in self.attackers for name in attacker.columns()]
        measured = (*self.quasi_identifiers, *(self.sensitive or ()))
        return (*self.knowledge.columns(), *profiled, *self.target, *measured)

    @property
    def heading(self) -> str:
        """What the report is called: the title, else the name of the released file; in memory it has none."""
        if self.title or not isinstance(self.synthetic, Path):
            return self.title
        name = self.synthetic.with_suffix("") if self.synthetic.suffix.lower() == ".gz" else self.synthetic
        return clean(name.stem, LONGEST_TITLE)

    def with_threshold(self, threshold: float) -> Self:
        """Return the same, judged by one threshold for all risks."""
        return self.model_copy(update={"policy": self.judged_by.with_threshold(threshold)})

    def without_tables(self) -> Self:
        """Return the same without the tables, once they are read."""
        return self.model_copy(update=dict.fromkeys(TABLES))

    def for_page(self) -> Self:
        """Return the same with all that a page shows beside risks, unless something else was decided."""
        brought = {key: value for key, value in ON_A_PAGE.items() if key not in self.model_fields_set}
        return self.model_copy(update=brought)


_OF_ONE_TABLE = {
    "schema": "schemas: {table: FILE}",
    "drop": "schemas: {table: {drop: [COLUMN]}}",
    "person": "person: {table: TABLE, key: COLUMN}",
}
"""Options for one table alone, and what the file of linked tables says instead."""


def _with_databases(asked: dict[str, Any]) -> dict[str, Any]:
    """Add where linked tables are, as their file says it; what is asked for beside it comes first."""
    tables, metadata, person = (asked.get(key) for key in ("tables", "metadata", "person_table"))
    if tables is None and metadata is None:
        if person is not None:
            raise ParameterError("audit", "person_table names a table of --metadata, and there is none.")
        return asked
    for key, instead in _OF_ONE_TABLE.items():
        if asked.get(key):
            hint = f"Say it in the file of the tables, such as {instead}"
            raise ParameterError("audit", f"{key} is for one table; linked tables have several.", hint=hint)
    database = read_database(tables, metadata=metadata, person=person)
    return {**{role: each for role, each in database.given.items() if role in TABLES}, **asked}


def files_named(source: Source = None, **given: Any) -> tuple[Path, ...]:  # noqa: ANN401 - as in AuditRequest.read
    """Return every file that reading such a request reads, and the audit after it."""
    asked = _gathered(source, given)
    own = (Path(source),) if isinstance(source, (str, Path)) else ()
    return (*own, *(Path(asked[key]) for key in _FILES if isinstance(asked.get(key), (str, Path))))


def _gathered(source: Source, given: Mapping[str, Any]) -> dict[str, Any]:
    """Put together what a source says and what is given by name."""
    where = yaml_files.place(source, "config")
    said: Any = yaml_files.load(Path(source), where) if isinstance(source, (str, Path)) else source or {}
    if not isinstance(said, Mapping):
        raise ParameterError(where, "the top level must hold settings, such as 'train: train.csv'.")
    named = {key: value for key, value in given.items() if value is not None}
    if "control" in said and said["control"] is None and "control" not in named:
        raise ParameterError(where, "control names no file; name one, or take the line out.")
    asked = {key: value for key, value in said.items() if value is not None}
    if isinstance(source, (str, Path)):
        asked |= _located(asked, Path(source).parent, where)
    return asked | named


def _located(asked: Mapping[Any, Any], folder: Path, where: str) -> dict[str, Path]:
    """Return the paths in a file, as they are reached from here."""
    for key in TABLES:
        if not isinstance(asked.get(key, ""), str):
            kind = type(asked[key]).__name__
            raise ParameterError(where, f"{key} must be the path of a file, got {kind}.")
    return {key: folder / asked[key] for key in _FILES if isinstance(asked.get(key), str)}


def _complaint(error: ValidationError, owners: Mapping[Any, str], where: str) -> TabveilError:
    """Tell the first fault in one line that names the key and what it must be."""
    first = error.errors(include_url=False)[0]
    key = first["loc"][0] if first["loc"] else ""
    owner = owners.get(key, where)
    if first["type"] == "extra_forbidden":
        close = nearest(str(key), list(_CALLED.values()))
        hint = f"Did you mean {close!r}?" if close else ""
        return ParameterError(owner, yaml_files.complaint(error), hint=hint)
    cause = first.get("ctx", {}).get("error")
    if not isinstance(cause, TabveilError):
        return ParameterError(owner, yaml_files.complaint(error))
    in_file = owner != _BY_NAME and cause.owners[:1] != (owner,)
    return type(cause)(owner, cause) if in_file else cause


def _owner(info: ValidationInfo) -> str:
    owners: Mapping[str, str] = info.context or {}
    return owners.get(_key(info), _BY_NAME)


def _key(info: ValidationInfo) -> str:
    return str(info.field_name)


def _metric(owner: str, item: Any) -> MetricChoice | Metric:  # noqa: ANN401 - checked here
    if isinstance(item, (str, Mapping)):
        return MetricChoice.read(owner, item)
    metric: Metric = item() if isinstance(item, type) else item
    if not (callable(metric) and hasattr(metric, "name") and hasattr(metric, "labels")):
        kind = type(item).__name__
        raise ParameterError(owner, f"metrics must be names or metric objects, got {kind}.")
    return completed(metric, Metric)  # type: ignore[no-any-return]


def _as_texts(owner: str, key: str, given: object) -> Columns:
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise ParameterError(owner, f"{key} must be a list of texts, got {type(given).__name__}.")
    texts = tuple(given)
    for text in texts:
        if not isinstance(text, str):
            kind = type(text).__name__
            raise ParameterError(owner, f"{key} must be a list of texts, got {kind} in it; quote it.")
    return texts
