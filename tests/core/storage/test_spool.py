"""Arrays on disk are the arrays that they stand for, and nothing is left of them."""

import errno
import os
import stat
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tabveil.core.storage import spool
from tabveil.core.table import Numeric, Schema, Table
from tabveil.core.workers import each_chunk, working
from tabveil.errors import ParameterError

FILES = Path("/proc/self/fd")
SMALL = 1 << 16
"""So little memory that every array of the tests is a large one."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array is not None


@pytest.mark.parametrize("order", ["C", "F"])
def test_tables_are_equal_wherever_they_stand(place, order):
    rng = np.random.default_rng(0)
    values = np.asarray(rng.random((5000, 3)), order=order)
    schema = Schema(tuple(Numeric(name=name, low=0, high=1) for name in "abc"))
    table = Table(schema=schema, values=values)
    rows = rng.permutation(5000)[:3000]
    flags = rng.random(5000) < 0.5

    def made():
        return [
            table.take(rows).values,
            table.take(flags).values,
            table.select(["c", "a"]).values,
            table.joined(table.take(rows)).values,
            table.joined(table).values,
            spool.kept(values),
        ]

    expected = made()
    with working(memory=SMALL):
        found = made()
    for here, there in zip(expected, found, strict=True):
        assert np.array_equal(here, there)
        assert here.flags.c_contiguous == there.flags.c_contiguous  # sums depend on it
        assert mapped(there)
        assert not mapped(here)
    assert [*place.iterdir()] == []


def test_small_arrays_stay_in_memory(place):
    with working(memory=1 << 30):
        assert not mapped(spool.room((100, 3)))
    assert not mapped(spool.room((1000, 1000)))


def test_what_is_on_disk_stays_there_once(place):
    with working(memory=SMALL):
        there = spool.kept(np.arange(5000.0))
        assert spool.kept(there) is there


def test_nobody_else_can_read_the_file_which_has_no_name(place, monkeypatch):
    modes = []
    real = np.memmap

    class Watched(real):
        def __new__(cls, file, **given):
            found = os.fstat(file.fileno())
            modes.append((stat.S_IMODE(found.st_mode), found.st_nlink, [*place.iterdir()]))
            return real(file, **given)

    monkeypatch.setattr(np, "memmap", Watched)
    with working(memory=SMALL):
        spool.room((5000,))
    assert modes == [(0o600, 0, [])]


def test_a_full_disk_is_said_before_anything_is_written(place, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with working(memory=SMALL), pytest.raises(ParameterError, match="No space left on device"):
        spool.room((5000,))
    assert [*place.iterdir()] == []


def test_the_folder_is_the_one_that_was_named(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert spool.folder() == tmp_path
    monkeypatch.delenv("TMPDIR")
    assert str(spool.folder()) == "/var/tmp"


def test_many_small_arrays_share_a_file(place):
    files = len([*FILES.iterdir()]) if FILES.exists() else 0
    with working(memory=SMALL):
        held = [spool.kept(np.full(1000, number, np.int32)) for number in range(3000)]
        assert all(mapped(array) for array in held)
        for number, array in enumerate(held):
            assert array.dtype == np.int32
            assert (array == number).all()
        if FILES.exists():
            assert len([*FILES.iterdir()]) < files + 10
    del held, array
    if FILES.exists():
        assert len([*FILES.iterdir()]) <= files


def test_threads_lay_down_arrays_of_their_own(place):
    found = {}

    def lay(start, stop):
        for number in range(start, stop):
            found[number] = spool.kept(np.full(700, number, np.float64))

    with working(memory=SMALL, threads=4):
        each_chunk(400, 10, lay, doing="laying")
        assert all((array == number).all() for number, array in found.items())
