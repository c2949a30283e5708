"""What is recognized as identifying: forms, check digits, and the names of columns."""

import pytest
from supplies.needs import need
from supplies.words_of_people import split_of

from tabveil.metrics.properties.replay import numbers
from tabveil.metrics.properties.replay.patterns import kind_called, name_part, titled_names, values_in
from tabveil.metrics.properties.replay.pii import sources

EXAMPLES = {
    "anna.b-c+d@mail.example.org": "e-mail address",
    "ü@exämple.de": "e-mail address",
    "DE89 3704 0044 0532 0130 00": "account number",  # the example of the registry
    "GB29NWBK60161331926819": "account number",
    "4111 1111 1111 1111": "account number",  # the card of all examples
    "378282246310005": "account number",
    "+49 30 901820": "phone number",
    "+1 (212) 736-5000": "phone number",
    "123-45-6789": "national identifier",  # United States
    "943 476 5919": "national identifier",  # NHS
    "2341 2341 2346": "national identifier",  # Aadhaar
    "529.982.247-25": "national identifier",  # CPF
    "85.07.30-033.28": "national identifier",  # Belgium
    "811228-9874": "national identifier",  # Sweden
    "2 55 08 14 168 025 38": "national identifier",  # France
    "12345678Z": "national identifier",  # Spain
    "X1234567L": "national identifier",
    "RSSMRA85T10A562S": "national identifier",  # Italy
    "QQ 12 34 56 C": None,  # a prefix that Britain does not give
    "AB 12 34 56 C": "national identifier",
    "11010519491231002X": "national identifier",  # China
    "12 High Street": "postal address",
    "Hauptstraße 5": "postal address",
    "12 rue de la Paix": "postal address",
    "DE89 3704 0044 0532 0130 01": None,  # a digit wrong
    "4111 1111 1111 1112": None,
    "0000 0000 0000 0000": None,
    "000-45-6789": None,
    "943 476 5918": None,
    "2341 2341 2347": None,
    "529.982.247-26": None,
    "85.07.30-033.29": None,
    "811228-9875": None,
    "2 55 08 14 168 025 39": None,
    "12345678A": None,
    "RSSMRA85T10A562T": None,
    "110105194912310021": None,
    "2024-03-01 12:30:00": None,
    "192.168.100.200": None,
    "I21.4": None,
    "1,234,567.89": None,
    "room 12": None,
    "a@b": None,
    "": None,
}


@pytest.mark.parametrize(("text", "kind"), EXAMPLES.items())
def test_forms_and_check_digits(text, kind):
    expected = [] if kind is None else [kind]
    assert [found.kind for found in values_in(text)] == expected
    assert [found.kind for found in values_in(f"Then ({text}), and so on.")] == expected


def test_values_are_compared_however_they_are_written():
    def keys(text):
        return [found.key for found in values_in(text)]

    assert keys("DE89 3704 0044 0532 0130 00") == keys("DE89370400440532013000")
    assert keys("Jo@Example.org") == keys("jo@example.ORG")
    assert keys("+49 30 901820") == keys("+49 (30) 90-18-20")
    assert keys("12 High Street") == keys("12, high street")
    assert numbers.phone_key("0171 2345678") == numbers.phone_key("+49 171 2345678")


def test_several_values_in_one_text():
    text = "a@b.de, c@d.fr and 4111-1111-1111-1111 by 12 High Street; again a@b.de"
    found = [item.kind for item in values_in(text)]
    assert found == ["e-mail address"] * 3 + ["account number", "postal address"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("seen by Dr. Anna Schmidt today", ["Anna Schmidt"]),
        ("Frau Erika Muster-Mann, Herr Ö. Ünal", ["Erika Muster-Mann"]),
        ("Mr Smith came", []),  # one word is no full name
        ("Mrs. anna schmidt", []),
        ("Ms. Ana de Souza", []),
    ],
)
def test_names_after_titles(text, names):
    assert list(titled_names(text)) == names


@pytest.mark.parametrize("text", ["a@" * 300_000, "1 " * 300_000, "Mr. Aa " * 100_000, "a@b.de " * 50_000])
def test_a_long_text_is_read_in_one_pass(text):
    """Patterns that go back and forth would take hours."""
    assert len(list(values_in(text))) in {0, 50_000}
    assert len(list(titled_names(text))) in {0, 100_000, 50_000}


@pytest.mark.parametrize("check", [numbers.luhn, numbers.is_nhs, numbers.is_aadhaar, numbers.is_cpf])
def test_one_wrong_digit_is_seen(check):
    number = {"luhn": "4111111111111111", "is_nhs": "9434765919", "is_aadhaar": "234123412346"}.get(
        check.__name__, "52998224725"
    )
    assert check(number)
    wrong = [
        number[:place] + str(digit) + number[place + 1 :]
        for place in range(len(number))
        for digit in range(10)
        if str(digit) != number[place]
    ]
    seen = sum(not check(other) for other in wrong)
    assert seen >= len(wrong) - 1  # the two digits of a CPF can both fit by chance


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("email", "e-mail address"),
        ("Home Phone", "phone number"),
        ("mobileNumber", "phone number"),
        ("IBAN", "account number"),
        ("ssn", "national identifier"),
        ("home_address", "postal address"),
        ("ip_address", None),
        ("state", None),
        ("discount", None),
        ("", None),
    ],
)
def test_kinds_that_columns_are_called_after(name, kind):
    assert kind_called(name) == kind


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("name", "full"),
        ("Patient Name", "full"),
        ("vorname", "first"),
        ("given_name", "first"),
        ("Surname", "last"),
        ("mother_last_name", "last"),
        ("drug_name", None),
        ("hospital name", None),
        ("filename", None),
        ("named", None),
    ],
)
def test_names_that_columns_are_called_after(name, part):
    assert name_part(name) == part


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("phone", "0171 2345678", "phone number"),
        ("phone", "1712345678", "phone number"),
        ("phone", "unknown", None),
        ("ssn", "123456789", "national identifier"),
        ("account", "0001234567", "account number"),
        ("address", "Am Alten Markt 3, 12345 Ort", "postal address"),
        ("address", "unknown", None),
        ("name", "Anna Schmidt", "full name"),
        ("name", "Schmidt, Anna", "full name"),
        ("name", "Dr. Anna", "part of a name"),
        ("surname", "Schmidt", "part of a name"),
        ("remark", "0171 2345678", None),
        ("remark", "123456789", None),
        ("remark", "Anna Schmidt", None),
    ],
)
def test_values_by_the_name_of_their_column(column, value, kind):
    rows = {column: [value]}
    assert [source.kind for source in sources(split_of(rows, rows, rows))] == ([] if kind is None else [kind])


def test_the_schema_says_what_nothing_else_tells():
    rows = {"case": ["A-17"]}
    assert sources(split_of(rows, rows, rows)) == []
    assert [source.kind for source in sources(split_of(rows, rows, rows, case="identifiers"))] == [
        "identifier"
    ]


def test_without_the_extra_a_number_is_told_by_its_form(monkeypatch):
    monkeypatch.setattr(numbers, "numbering_plans", lambda: None)
    assert numbers.is_phone("+999 12345678")
    assert not numbers.is_phone("+49 1234")
    assert not numbers.is_phone("12345678")


def test_with_the_extra_a_number_must_be_one_that_its_country_gives():
    need(numbers.numbering_plans(), "phonenumbers, of the extra 'pii'")
    assert numbers.is_phone("+49 30 901820")
    assert not numbers.is_phone("+999 12345678")
    assert not numbers.is_phone("+1 212 12345678")
