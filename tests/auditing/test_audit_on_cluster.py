"""An audit on a cluster: the report of one machine, nothing in clear, and the rules of the benchmark."""

import json

import pytest
from supplies.clusters import certified, overheard, started

import tabveil
from tabveil.auditing.request import AuditRequest
from tabveil.datasets import hospital
from tabveil.errors import ParameterError


@pytest.fixture
def certificate(tmp_path):
    """A certificate for one run, and Dask told of it."""
    with certified(tmp_path) as found:
        yield found


def told(report):
    """Return all that a report says but for how long it took."""

    def without_times(item):
        if isinstance(item, dict):
            return {key: without_times(value) for key, value in item.items() if key != "seconds"}
        return [*map(without_times, item)] if isinstance(item, list) else item

    return without_times(json.loads(report.to_json()))


ATTACKERS = [{"name": "insider", "knows": ["age", "sex"], "wants": ["outcome"]}]


def test_with_tls_the_report_is_the_same_nothing_is_overheard_and_a_lost_worker_changes_nothing(
    certificate, tmp_path
):
    train, control = hospital(400, seed=1), hospital(400, seed=2)
    asked = {"attackers": ATTACKERS, "seed": 4}
    here = tabveil.audit(train, train.iloc[:300], control, threads=1, **asked)

    def lose_one(_doing, share):
        if share > 0.3:
            workers[0].kill()

    with started(tmp_path, "tls", certificate) as (address, workers), overheard(address) as (way, heard):
        there = tabveil.audit(train, train.iloc[:300], control, scheduler=way, progress=lose_one, **asked)
        assert workers[0].wait() < 0
        assert workers[1].poll() is None
    assert told(there) == told(here)
    assert here.advice.remedies  # changes were tried, and attacks repeated there
    assert len(heard) > 10_000
    assert not any(word in heard for word in (b"membership_distance", b"outcome", b"tabveil"))


def test_whoever_would_be_planted_is_and_all_else_is_measured_as_on_one_machine(tmp_path):
    tables = [hospital(300, seed=seed) for seed in (1, 3, 2)]
    asked = {"policy": {"thresholds": dict.fromkeys(RISKS, 0.5)}, "utility": True, "portrait": True}
    here = tabveil.audit(*tables, threads=1, **asked)
    with started(tmp_path, "tcp") as (address, _):
        there = tabveil.audit(*tables, scheduler=address, **asked)
    assert told(there) == told(here)
    assert here.positive is not None
    assert here.spread is not None


RISKS = ("singling_out", "linkability", "inference", "membership")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://10.1.2.3:8786", "audit: rows would travel in clear to the scheduler at tcp://10.1.2.3:8786"),
        ("tls://127.0.0.1:1", "audit: no scheduler answers at tls://127.0.0.1:1."),
        (8786, "audit: scheduler must be the address of a Dask scheduler, got int."),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_table_is_read(address, said):
    with pytest.raises(ParameterError) as error:
        tabveil.audit("not there.csv", "nor this.csv", scheduler=address)
    assert said in str(error.value)


def test_where_an_audit_ran_stands_in_no_report(tmp_path):
    request = AuditRequest.read(train="t.csv", synthetic="s.csv", scheduler="tcp://127.0.0.1:1")
    assert request.scheduler == "tcp://127.0.0.1:1"
    assert "127.0.0.1" not in json.dumps(tabveil.auditing.config.written(request))
