"""Links open once, sessions end, and a user's key is nobody else's."""

import pytest

from tabveil.web import keys
from tabveil.web.keys import Keys, own_key, seal


def test_a_link_opens_one_session():
    found = Keys()
    link = found.new_link()
    session = found.open_session(link)
    assert found.form_token(session)
    assert found.open_session(link) is None
    assert found.form_token(link) is None
    found.close(session)
    assert found.form_token(session) is None


def test_a_link_does_not_wait_for_ever(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(keys.time, "monotonic", lambda: now[0])
    found = Keys()
    link = found.new_link(seconds=10)
    now[0] = 111.0
    assert found.open_session(link) is None


def test_sessions_are_so_many_and_the_oldest_ends_first(monkeypatch):
    monkeypatch.setattr(keys, "MOST_SESSIONS", 2)
    found = Keys()
    sessions = [found.open_session(found.new_link()) for _ in range(3)]
    assert [found.form_token(session) is not None for session in sessions] == [False, True, True]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "tabveil" / "serve.key"


def test_the_key_is_kept_for_its_owner_alone(home):
    assert own_key() == own_key() == home.read_bytes()
    assert home.stat().st_mode & 0o777 == 0o600
    assert home.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("text", [b"", b"short", b"x" * 33])
def test_what_is_no_key_is_not_taken_for_one(home, text):
    own_key()
    home.write_bytes(text)
    assert own_key() != own_key()


def test_a_key_that_others_can_read_is_none(home):
    own_key()
    home.chmod(0o644)
    assert own_key() != home.read_bytes()


def test_where_none_can_be_kept_there_is_one_for_now(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert len(own_key()) == 32
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_seal_says_where_one_part_ends():
    assert seal(b"k", (b"ab", b"c")) != seal(b"k", (b"a", b"bc"))
    assert seal(b"k", (b"a",)) != seal(b"l", (b"a",))
