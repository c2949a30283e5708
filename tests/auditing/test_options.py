import inspect
import subprocess
import sys

import tabveil
from tabveil.auditing.options import OPTIONS, AuditOptions
from tabveil.auditing.request import AuditRequest

CALLED = {option.name or field: field for field, option in OPTIONS.items()}


def test_the_audit_takes_every_option_that_is_declared_with_its_default():
    taken = dict(inspect.signature(tabveil.audit).parameters)
    assert taken.pop("progress").default is None
    assert taken.keys() == CALLED.keys()
    for name, parameter in taken.items():
        declared = getattr(AuditOptions, CALLED[name], inspect.Parameter.empty)
        assert parameter.default == declared or not (parameter.default or declared), name


def test_the_audit_explains_every_option():
    told = inspect.getdoc(tabveil.audit)
    named = {name for line in told.splitlines() for name in line.split(", ")}
    assert CALLED.keys() <= named


def test_the_request_holds_the_options_under_the_names_that_users_give():
    fields = AuditRequest.model_fields
    assert {name: field.alias for name, field in fields.items()} == {v: k for k, v in CALLED.items()}
    assert list(fields) == list(OPTIONS)
    for name, field in fields.items():
        assert field.is_required() or field.default == getattr(AuditOptions, name)


def test_options_are_declared_without_anything_heavy():
    loaded = "import sys, tabveil.auditing.options; print({'numpy', 'pydantic'} & {*sys.modules})"
    found = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
