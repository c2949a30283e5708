"""How large may a packed file become? A small one that unpacks to a very large one is stopped on the way."""

from tabveil.errors import SchemaError

MOST_UNPACKED = 200
"""How many times its size a packed file may unpack to; tables of people stay far below."""

_ALWAYS_UNPACKED = 1 << 25  # 32 MiB are no burden, however small the file


def require_room(unpacked: int, packed: int, what: str) -> None:
    """Refuse a file of ``packed`` bytes that has unpacked to too many."""
    most = max(_ALWAYS_UNPACKED, MOST_UNPACKED * packed)
    if unpacked > most:
        raise SchemaError(
            f"{what} unpacks to more than {most >> 20:,} MiB, over {MOST_UNPACKED} times its size; unpack it "
            "yourself if that is meant."
        )
