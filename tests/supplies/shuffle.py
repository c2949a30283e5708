"""A generator of no class of ours, as a user would write it."""

import json

import numpy as np
import pandas as pd

from tabveil.core.table import Schema, Table


class ShuffleModel:
    name = "shuffle"

    def __init__(self, schema, values):
        self.schema, self.values = schema, values

    def sample(self, n_rows, *, rng):
        return Table(schema=self.schema, values=self.values[rng.integers(len(self.values), size=n_rows)])

    def save(self, folder):
        folder.mkdir()
        (folder / "model.json").write_text(json.dumps(self.schema.to_json()), encoding="utf-8")
        np.save(folder / "values.npy", self.values, allow_pickle=False)


class Shuffle:
    """Put every column in an order of its own."""

    name = "shuffle"

    def __init__(self, times: int = 1):
        self.times = times

    def fit(self, table, *, rng):
        values = table.values
        for _ in range(self.times):
            values = np.column_stack([rng.permutation(column) for column in values.T])
        return ShuffleModel(table.schema, values)

    @classmethod
    def load(cls, folder):
        schema = Schema.from_json(json.loads((folder / "model.json").read_text(encoding="utf-8")))
        return ShuffleModel(schema, np.load(folder / "values.npy", allow_pickle=False))


def people(n=40):
    rng = np.random.default_rng(1)
    return pd.DataFrame({"age": rng.integers(20, 80, n), "ward": rng.choice(["a", "b", "c"], n)})


def fails(folder):
    folder.mkdir()
    (folder / "half").write_text("half", encoding="utf-8")
    raise OSError(28, "No space left on device")
