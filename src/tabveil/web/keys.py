"""Who may open the pages: a link that is good once becomes a session, which a cookie carries.

And which jobs are this user's own: a folder that somebody else made may hold jobs, too, and starting those
would be doing what they want.
"""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from tabveil.core.storage.files import OWNER_FILE, OWNER_FOLDER, Unreadable, read_bytes

MOST_SESSIONS = 20
LINK_SECONDS = 600.0
"""So long a link may wait for whoever asked for it on a page; the first one waits as long as the server."""


class Keys:
    """Links and sessions of one server; they are kept in its memory and end with it."""

    def __init__(self) -> None:
        self._links: dict[str, float] = {}  # digests, and until when each is good
        self._sessions: dict[str, str] = {}  # digests, and what forms of that session must bring
        self._lock = Lock()

    def new_link(self, *, seconds: float = LINK_SECONDS) -> str:
        """Return a token that opens one session."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            now = time.monotonic()
            self._links = {key: until for key, until in self._links.items() if until > now}
            self._links[_digest(token)] = now + seconds
        return token

    def open_session(self, token: str) -> str | None:
        """Take a token for a session, once; None where it is none, or was taken already."""
        with self._lock:
            until = self._links.pop(_digest(token), 0.0)
            if until <= time.monotonic():
                return None
            while len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]  # the oldest
            session = secrets.token_urlsafe(32)
            self._sessions[_digest(session)] = secrets.token_urlsafe(32)
            return session

    def form_token(self, session: str) -> str | None:
        """Return what forms of a session must bring; None where there is no such session."""
        with self._lock:
            return self._sessions.get(_digest(session))

    def close(self, session: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(_digest(session), None)


def same(one: str, other: str) -> bool:
    """Compare secrets in a time that does not tell how much of them is right."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))


_KEY_BYTES = 32


def own_key() -> bytes:
    """Return this user's key, which is in no project; where none can be kept, one for this server alone."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    place = Path(home, "tabveil", "serve.key")
    try:
        place.parent.mkdir(mode=OWNER_FOLDER, parents=True, exist_ok=True)
        try:
            handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_FILE)
        except FileExistsError:
            found = read_bytes(place, most=_KEY_BYTES)
            about = place.stat()
            private = about.st_mode & 0o077 == 0 and about.st_uid == os.getuid()
            return found if private and len(found) == _KEY_BYTES else secrets.token_bytes(_KEY_BYTES)
        with os.fdopen(handle, "wb") as file:
            key = secrets.token_bytes(_KEY_BYTES)
            file.write(key)
            return key
    except (OSError, RuntimeError, Unreadable):
        return secrets.token_bytes(_KEY_BYTES)


def seal(key: bytes, parts: Iterable[bytes]) -> str:
    """Return what only the owner of a key can say of these parts."""
    found = hmac.new(key, digestmod="sha256")
    for part in parts:
        found.update(hashlib.sha256(part).digest())
    return found.hexdigest()


def _digest(secret: str) -> str:
    """Look secrets up by their digests: how long that takes tells nothing of them."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
