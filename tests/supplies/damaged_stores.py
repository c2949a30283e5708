"""Damage to the stores of long work, drawn by Hypothesis: by a disk, a careless hand, or a forger."""

import json
import shutil

from hypothesis import strategies as st

from supplies.damaged_models import array_damages, file_damages, json_damages
from tabveil.workflows.cells.store import digest


@st.composite
def store_damages(draw, names):
    """Draw a function that damages a folder, the name of a file in it, and whether the damage is forged.

    ``names`` are the files there. What is forged has the digest of what it holds.
    """
    name = draw(st.sampled_from(names))
    kinds = ["flip", "flip", "flip", "file", "file", "swap", "inside", "inside", "inside", "forged"]
    match draw(st.sampled_from(kinds)):
        case "flip":
            share, mask = draw(st.floats(0, 1, exclude_max=True)), draw(st.integers(1, 255))
            return lambda folder: flip(folder / name, share, mask), name, False
        case "file":
            return draw(file_damages([name])), name, False
        case "swap":
            other = draw(st.sampled_from([item for item in names if suffix(item) == suffix(name)]))
            return lambda folder: swap(folder / name, folder / other), name, False
        case _ if suffix(name) == "npz":
            return draw(array_damages(name)), name, True
        case kind:
            damage, forged = draw(json_damages([name])), kind == "forged"
            return lambda folder: (damage(folder), forged and seal(folder / name)), name, forged


def suffix(name):
    return name.rpartition(".")[2]


def flip(file, share, mask):
    whole = bytearray(file.read_bytes())
    whole[int(share * len(whole))] ^= mask
    file.write_bytes(whole)


def swap(one, other):
    """Put two files into each other's place."""
    third = one.with_suffix(".third")
    one.rename(third)
    if other.exists():
        other.rename(one)
    shutil.move(third, other)


def seal(file):
    """Write the digest of what a file holds, as its writer did."""
    try:
        told = json.loads(file.read_text())
        told.pop("seal", None)
        file.write_text(json.dumps({**told, "seal": digest(told)}))
    except (ValueError, AttributeError, TypeError, RecursionError):
        pass  # it is no such file any more
