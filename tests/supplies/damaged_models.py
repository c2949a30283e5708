"""Damage to model folders, drawn by Hypothesis: what a full disk, a broken copy or an enemy leaves behind."""

import io
import json
import os
import shutil
import zipfile
from copy import deepcopy
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([2**31, 2**63, -(2**63), 10**18, 10**30, 10**400]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.5, -1.0, 1e-300, 1e300]),
    st.text(max_size=4),
    st.sampled_from(["", "../..", "trees", "labels", "null", "\ud800", "x" * 5000]),
    st.just([]),
    st.just({}),
    st.lists(st.integers(-2, 9), max_size=4),
    st.just([[[[]]]]),
)
"""What may stand where something else should."""
RAW = st.sampled_from(["NaN", "Infinity", "-1e999", "1e999", '"\\ud800"', "[" * 5000, "0" * 40])
"""Written into a file as it is: what no JSON library writes."""
MARK = "@@here@@"


MODEL_FILES = ("model.json", "arrays.npz", "layout.json")


@st.composite
def damages(draw, strangers, names=MODEL_FILES):
    """Draw a function that damages a folder; ``strangers`` are folders of other models.

    ``names`` are the files there, the first of them the most important one.
    """
    kind = draw(st.sampled_from(["json", "json", "json", "array", "array", "array", "file", "swap"]))
    match kind:
        case "json":
            return draw(json_damages(names))
        case "array":
            return draw(array_damages())
        case "file":
            return draw(file_damages(names))
        case _:
            other, name = draw(st.sampled_from(strangers)), draw(st.sampled_from(names))
            return lambda folder: shutil.copy(other / name, folder / name)


def spots(data, path=()):
    """Return the paths of all values in plain data; of long lists only the ends."""
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, item in list(items)[:12]:
        yield from spots(item, (*path, key))


def at(data, path):
    for key in path:
        data = data[key]
    return data


def moved(value, step, like_it):
    """Return a value of the same type, near or far."""
    match value:
        case bool():
            return not value
        case int() | float() if abs(step) > 0.5 or like_it == value:
            return type(value)(value + step)
        case list() if len(value) > 1 and step > 0:
            return [*value[1:], value[0]] if step > 5 else value[:-1]
        case list() if value:
            return [*value, value[-1]]
    return like_it


@st.composite
def json_damages(draw, names):
    written = [name for name in names if name.endswith(".json")]
    name = draw(st.sampled_from([written[0], *written]))
    where, other = (draw(st.floats(0, 1, exclude_max=True)) for _ in range(2))
    how = draw(st.integers(0, 9))
    value, raw, key = draw(ODD), draw(RAW), draw(st.text(max_size=3))
    step = draw(st.sampled_from([-1, 1, 1, 7, -100, 0.5, 1e6, 1e15, -1e15, 1e200, -1e200]))

    def damage(folder):
        data = json.loads((folder / name).read_text())
        paths = list(spots(data))[1:]
        *above, last = paths[int(where * len(paths))]
        spot = at(data, above)
        match how:
            case 0 | 1:
                spot[last] = value
            case 2:
                del spot[last]
            case 3:
                spot[last] = MARK
            case 4 | 5 | 6 | 7:  # of the same type, so that only its meaning is wrong
                same = [at(data, path) for path in paths if type(at(data, path)) is type(spot[last])]
                spot[last] = moved(spot[last], step, deepcopy(same[int(other * len(same))]))
            case _ if isinstance(spot, dict):
                spot[key] = value
            case _:
                spot.append(value)
        (folder / name).write_text(json.dumps(data).replace(f'"{MARK}"', raw))

    return damage


def pack(arrays, path):
    """Write an archive whose members are any bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in arrays.items():
            archive.writestr(name, data)


def as_bytes(array):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=True)
    return out.getvalue()


@st.composite
def array_damages(draw, file="arrays.npz"):
    where, spot = draw(st.floats(0, 1, exclude_max=True)), draw(st.floats(0, 1, exclude_max=True))
    how = draw(st.integers(0, 12))
    number = draw(st.sampled_from([-1, 0, 1, 2, 7, -2, 10**6, 2**31 - 1, -(2**31), np.nan, np.inf, 1e300]))
    dtype = draw(st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.uint8, bool, object, "U3"]))
    junk = draw(st.binary(max_size=20))

    def damage(folder):
        path = folder / file
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
        members = {f"{name}.npy": as_bytes(array) for name, array in arrays.items()}
        name = list(arrays)[int(where * len(arrays))] if arrays else "new"
        array = arrays.get(name, np.zeros(3))
        match how:
            case 10:
                members.pop(f"{name}.npy", None)
            case 11:
                members[f"{name}{junk.hex()}.npy"] = as_bytes(array)
            case 12:
                whole = bytearray(as_bytes(array))
                start = int(spot * len(whole))
                whole[start : start + len(junk)] = junk
                members[f"{name}.npy"] = bytes(whole)
            case _:
                with np.errstate(all="ignore"):
                    members[f"{name}.npy"] = as_bytes(changed(array, how, where, spot, number, dtype))
        pack(members, path)

    return damage


def changed(array, how, where, spot, number, dtype):
    """Return an array with other numbers, or of another shape or type."""
    entry = int(spot * array.size)
    match how:
        case 0 | 1 | 2 | 3 if array.size:
            array.flat[entry] = np.array(number).astype(array.dtype)
        case 4 | 5 if array.size:  # another entry, so that only its place is wrong
            array.flat[entry] = array.flat[int(where * array.size)]
        case 6 if array.size:
            array.flat[entry] += np.ones((), array.dtype)
        case 7:
            return np.flip(array).copy() if spot < 0.5 else np.concatenate([array.reshape(-1)] * 2)
        case 8:
            return array[:-1] if array.ndim and len(array) else np.zeros((2, 2))
        case 9:
            return np.nan_to_num(array).astype(dtype)
    return array


@st.composite
def file_damages(draw, names):
    name, how = draw(st.sampled_from(names)), draw(st.integers(0, 8))
    share, junk = draw(st.floats(0, 1)), draw(st.binary(max_size=30))

    def damage(folder):
        file = folder / name
        whole = file.read_bytes()
        file.unlink()
        match how:
            case 0:
                file.write_bytes(whole[: int(share * len(whole))])
            case 1:
                start = int(share * len(whole))
                file.write_bytes(whole[:start] + junk + whole[start + len(junk) :])
            case 2:
                os.mkfifo(file)
            case 3:
                file.mkdir()
            case 4:
                file.symlink_to("/dev/zero")
            case 5:
                file.symlink_to(file)
            case 6:
                file.write_bytes(junk)
            case 7:
                pass  # gone
            case _:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bomb:
                    bomb.writestr("rows.npy", as_bytes(np.zeros(10_000)))

    return damage


def copy_of(folder: Path, place: Path) -> Path:
    """Return a fresh copy of a folder."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place)
    return place
