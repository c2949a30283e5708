"""Who may open the pages: a link that is good once becomes a session, which a cookie carries."""

import hashlib
import hmac
import secrets
import time
from threading import Lock

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


def _digest(secret: str) -> str:
    """Look secrets up by their digests: how long that takes tells nothing of them."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
