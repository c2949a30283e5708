"""Fields of forms come from declarations, and what they hold is read back as the same."""

import pytest

from tabveil.core.settings import values
from tabveil.synthesis.generators import GENERATORS
from tabveil.web import forms
from tabveil.workflows.synthesizing import settings_for_users

SETTINGS = [(name, key) for name, kind in GENERATORS.items() for key in settings_for_users(kind)]


@pytest.mark.parametrize(("generator", "key"), SETTINGS)
def test_every_setting_has_a_field_that_says_its_default(generator, key):
    setting = settings_for_users(GENERATORS[generator])[key]
    field = forms.setting_field(key, setting)
    assert field.label
    assert field.help
    text = forms.read_setting(key, setting, field.value)
    if field.choices:
        assert field.value in dict(field.choices)
    assert values.read(generator, key, text, setting.hint) == setting.default


def test_lines_and_texts():
    form = {"a": [" x \n\n y"], "b": [" z "]}
    assert forms.lines(form, "a") == ("x", "y")
    assert forms.one(form, "b") == "z"
    assert forms.verbatim(form, "b") == " z "
    assert forms.one(form, "c") == forms.verbatim(form, "c") == ""


def test_a_field_keeps_what_was_sent():
    text = forms.Field(name="a", label="A", value="usual")
    many = forms.Field(name="m", label="M", kind="many", chosen=("x", "y"))
    assert text.filled({"a": [" new"]}).value == " new"
    assert text.filled({}).value == "usual"
    assert many.filled({"m": ["y"]}).chosen == ("y",)
    assert many.filled({}).chosen == ()  # nothing is ticked, so nothing is sent
