"""The one door: whatever is not allowed here reaches no page.

A request must be for this server by its raw ``Host`` header, come with a session's cookie, and, where it
changes something, from a form of that session on this very origin. Its body has an end. Answers tell browsers
to load nothing from elsewhere, to frame and keep nothing. What goes wrong inside is answered by a sentence
without a path, a value or a traceback.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from tabveil.web.keys import Keys, same

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ENTER = "/enter"
"""Where a link is taken for a session: the one page that needs none."""

FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field
MOST_BODY = 1 << 19
MOST_FIELDS = 20_000
MOST_AT_ONCE = 64
"""Requests that are answered at the same time; more are told to come again."""
BODY_SECONDS = 20.0
_MOST_COOKIES = 50

PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
"""A report is a page of its own: it runs and loads nothing, and is a stranger to the pages around it."""

# With no-referrer a browser would call the origin of a form "null".
_HEADERS: Mapping[str, str] = {
    "content-security-policy": PAGE_POLICY,
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

SENTENCES: Mapping[int, tuple[str, str]] = {
    400: ("This request is not one for these pages", "Open them by the address that the terminal shows."),
    403: (
        "This page is closed",
        (
            "Open it by the link that the terminal shows. Each link opens the pages once; 'Open another "
            "browser' on the first page makes a new one, and so does a new start of tabveil serve."
        ),
    ),
    404: ("There is nothing here", "It may have been moved or deleted."),
    405: ("There is nothing here", "It may have been moved or deleted."),
    413: ("That is too much", "A form may not hold as much as was sent."),
    500: ("Something went wrong", "The terminal in which tabveil serve runs says more."),
    503: ("Too many requests", "Many pages were asked for at the same time. Try again."),
}
"""What error pages say; nothing in them depends on what was asked for."""


class Refused(Exception):  # noqa: N818 - an answer
    """The request gets this error page."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Guard:
    """Stands before an application and lets through what may come through."""

    def __init__(
        self, app: App, keys: Keys, *, host: str, cookie: str, failed: Callable[[Exception], None]
    ) -> None:
        self._app, self._keys, self._host, self.cookie, self._failed = app, keys, host, cookie, failed
        self._busy = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":  # a WebSocket
            return
        begun = False

        async def answer(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": _with_ours(message["headers"])}
            await send(message)

        self._busy += 1
        try:
            await self._let_in(scope, receive, answer)
        except Refused as refused:
            await _say(refused.status, answer)
        except Exception as error:  # noqa: BLE001 - the last door
            self._failed(error)
            if not begun:
                await _say(500, answer)
        finally:
            self._busy -= 1

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._busy > MOST_AT_ONCE:
            raise Refused(503)
        headers = _once(scope["headers"])
        if headers.get("host") != self._host or not scope["raw_path"].startswith(b"/"):
            raise Refused(400)
        if scope["method"] not in {"GET", "HEAD", "POST"}:
            raise Refused(405)
        state = scope.setdefault("state", {})
        if scope["path"] == ENTER:
            if scope["method"] != "GET":
                raise Refused(405)
            await self._app(scope, receive, send)
            return
        session, expected = self._session(headers.get("cookie", ""))
        state.update(session=session, form_token=expected)
        if scope["method"] == "POST":
            if headers.get("origin") != f"http://{self._host}" or _foreign(headers):
                raise Refused(403)
            state["form"] = form = await _form(headers, receive)
            if not same(form.get(FORM_TOKEN, [""])[0], expected):
                raise Refused(403)
        await self._app(scope, receive, send)

    def _session(self, cookies: str) -> tuple[str, str]:
        """Return the session and what its forms must bring; others on this machine may set cookies."""
        for part in cookies.split(";")[:_MOST_COOKIES]:
            name, _, value = part.strip().partition("=")
            if name == self.cookie and (expected := self._keys.form_token(value)) is not None:
                return value, expected
        raise Refused(403)


def _once(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name; what decides may stand there only once."""
    found: dict[str, str] = {}
    for key, value in headers:
        name = key.decode("latin-1").lower()
        if name in found and name in {"host", "origin", "content-length", "content-type", "cookie"}:
            raise Refused(400)
        found[name] = value.decode("latin-1")
    return found


def _foreign(headers: Mapping[str, str]) -> bool:
    """Whether the browser says that another site sent the form."""
    return headers.get("sec-fetch-site", "same-origin") != "same-origin"


async def _form(headers: Mapping[str, str], receive: Receive) -> dict[str, list[str]]:
    """Read the body of a form; it must not be longer, nor take longer, than forms are."""
    if headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise Refused(400)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Refused(400)
                body += message.get("body", b"")
                if len(body) > MOST_BODY:
                    raise Refused(413)
                if not message.get("more_body"):
                    break
    except TimeoutError:
        raise Refused(400) from None
    form: dict[str, list[str]] = {}
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise Refused(400) from None
    for key, value in fields:
        form.setdefault(key, []).append(value.replace("\r\n", "\n"))
    return form


def _with_ours(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Add our headers to an answer, where it does not have one of its own."""
    there = {key.lower() for key, _ in headers}
    ours = ((key.encode(), value.encode()) for key, value in _HEADERS.items())
    return [*headers, *((key, value) for key, value in ours if key not in there)]


async def _say(status: int, send: Send) -> None:
    title, sentence = SENTENCES[status]
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{title}</title></head>'
        f"<body><h1>{title}</h1><p>{sentence}</p></body></html>"
    ).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(page)).encode()),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": page})
