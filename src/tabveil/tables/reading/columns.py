"""Which columns the tables of an audit have in common, and what is said about those that they have not."""

from collections.abc import Collection, Mapping, Sequence
from typing import get_args

from tabveil.core.result import DroppedColumn, Role
from tabveil.errors import SchemaError
from tabveil.tables.reading.sources import Source
from tabveil.tables.reading.wording import listed, nearest, quoted

ROLES: tuple[Role, ...] = get_args(Role)


def uneven(came: Mapping[str, Source], by_schema: Collection[str]) -> list[str]:
    """Return the columns that some of the tables lack, but for those that a schema leaves out."""
    held = [set(source.data.column_names) for source in came.values()]
    return [name for name in _all(came) if name not in by_schema and not all(name in each for each in held)]


def require_same(
    came: Mapping[str, Source], by_schema: Collection[str], identifiers: Collection[str], *, dropping: bool
) -> None:
    """Refuse tables whose columns differ, showing only the difference and what to do about it.

    ``identifiers`` are those that name people among the columns that some tables lack. While identifiers are
    dropped, they are no difference.
    """
    leader, *others = came.values()
    passed = {*by_schema, *(identifiers if dropping else ())}
    ours = [name for name in leader.data.column_names if name not in passed]
    for other in others:
        theirs = [name for name in other.data.column_names if name not in passed]
        ours_only = [name for name in ours if name not in set(theirs)]
        theirs_only = [name for name in theirs if name not in set(ours)]
        differing = [*ours_only, *theirs_only]
        if not differing:
            continue
        parts = [
            f"only in {role}: {listed(only, most=4)}"
            for role, only in ((leader.role, ours_only), (other.role, theirs_only))
            if only
        ]
        pairs = [(name, close) for name in theirs_only if (close := nearest(name, ours_only))]
        hint = f"Did you mean {quoted(pairs[0][1])} by {quoted(pairs[0][0])}?" if pairs else None
        named = [name for name in differing if name in identifiers]
        hint = hint or _remedy(differing, named, dropping=dropping)
        raise SchemaError(f"The columns of {leader.role} and {other.role} differ: {'; '.join(parts)}. {hint}")


def _remedy(differing: Sequence[str], identifiers: Sequence[str], *, dropping: bool) -> str:
    """Say how to leave out columns that some tables lack."""
    by_schema = "list them under 'drop' in a schema (--schema)"
    if dropping:
        return f"They do not look like identifiers, which --drop-identifiers leaves out; {by_schema}."
    if len(identifiers) == len(differing):
        return "They look like identifiers: leave them out of the audit with --drop-identifiers."
    rest = f"To leave them out of the audit, {by_schema}"
    if identifiers:
        return f"{rest}, and identifiers with --drop-identifiers."
    return f"{rest}; name one that says whose row it is with --person."


def dropped(
    came: Mapping[str, Source],
    by_schema: Collection[str],
    identifiers: Collection[str],
    person: str | None = None,
) -> tuple[DroppedColumn, ...]:
    """Say which columns are left out, why, and which tables lack them anyway; in the order of the tables."""
    return tuple(
        DroppedColumn(
            name=name,
            reason="person" if name == person else "schema" if name in by_schema else "identifier",
            lacking=tuple(
                role for role in ROLES if role in came and name not in came[role].data.column_names
            ),
        )
        for name in _all(came)
        if name in by_schema or name in identifiers or name == person
    )


def _all(came: Mapping[str, Source]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for source in came.values() for name in source.data.column_names))
