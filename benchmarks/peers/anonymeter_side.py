"""Anonymeter's side of the comparison, through its public interface; runs in its own environment.

``python anonymeter_side.py FOLDER`` reads tasks from standard input, one JSON object a line, and answers each
with a line: CPU seconds of all threads, and successes on train and control where Anonymeter tells them.
"""

import json
import math
import resource
import sys
import warnings
from pathlib import Path

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

WARM_UP = 20  # rows, and guesses: enough to compile what is compiled


def cpu_seconds():
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def prepared(task, train, control, synthetic):
    """Return a function without arguments that runs the attack from three dataframes to its risk."""
    n_attacks = task["n_attacks"] or math.inf
    tables = {"ori": train, "syn": synthetic, "control": control}
    match task["attack"]:
        case "inference":
            known = [name for name in train.columns if name != task["secret"]]
            options = {"aux_cols": known, "secret": task["secret"], "regression": False}
            return lambda: finished(InferenceEvaluator(**tables, **options, n_attacks=n_attacks), n_jobs=-1)
        case "linkability":
            options = {"aux_cols": tuple(task["auxiliary"]), "n_neighbors": task["n_neighbors"]}
            return lambda: finished(LinkabilityEvaluator(**tables, **options, n_attacks=n_attacks), n_jobs=-1)
        case "singling_out":
            options = {"n_cols": task["n_columns"] or 1, "n_attacks": n_attacks, "seed": 0}
            mode = "multivariate" if task["n_columns"] else "univariate"
            return lambda: finished(SinglingOutEvaluator(**tables, **options), mode=mode)
        case unknown:
            raise ValueError(unknown)


def finished(evaluator, **options):
    evaluator.evaluate(**options)
    evaluator.risk()
    return evaluator.results()


def answer(task, tables):
    few = {**task, "n_attacks": WARM_UP}
    if task["attack"] != "singling_out":  # its polars queries are not compiled
        prepared(few, *(table.head(10 * WARM_UP) for table in tables))()
    run = prepared(task, *tables)
    start = cpu_seconds()
    results = run()
    seconds = cpu_seconds() - start
    return {"seconds": seconds, "train": int(results.n_success), "control": int(results.n_control)}


def main():
    warnings.simplefilter("ignore")
    folder, tables = Path(sys.argv[1]), {}
    for line in sys.stdin:
        task = json.loads(line)
        name = task["data"]
        if name not in tables:
            tables[name] = [
                pd.read_parquet(folder / f"{name}_{role}.parquet")
                for role in ("train", "control", "synthetic")
            ]
        print(json.dumps(answer(task, tables[name])), flush=True)


if __name__ == "__main__":
    main()
