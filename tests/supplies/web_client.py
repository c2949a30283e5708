"""A browser without pictures for the pages of ``tabveil serve``, and the server it speaks to."""

import http.client
import re
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from urllib.parse import urlencode, urlsplit

from supplies.daemons import waited_for


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def text(self):
        return self.body.decode(errors="replace")

    @property
    def goes_to(self):
        return self.headers.get("location")


class Client:
    """Keeps its cookie, fills in what forms hide, follows nothing by itself."""

    def __init__(self, link):
        parts = urlsplit(link)
        self.host, self.link, self.cookie = parts.netloc, f"{parts.path}?{parts.query}", None
        self.token = None

    def ask(self, method, path, *, body=None, headers=()):
        ours = {"Host": self.host}
        if self.cookie:
            ours["Cookie"] = self.cookie
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request(method, path, body=body, headers={**ours, **dict(headers)})
        got = connection.getresponse()
        answer = Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        connection.close()
        if "set-cookie" in answer.headers:
            self.cookie = answer.headers["set-cookie"].split(";")[0]
        return answer

    def enter(self):
        answer = self.ask("GET", self.link)
        assert answer.status == 200, answer.text
        return self

    def get(self, path):
        answer = self.ask("GET", path)
        found = re.search(r'name="form_token" value="([^"]+)"', answer.text) if answer.status < 500 else None
        self.token = unescape(found[1]) if found else self.token
        return answer

    def post(self, path, fields=(), **headers):
        if self.token is None:
            self.get("/")
        pairs = [("form_token", self.token), *(fields.items() if isinstance(fields, dict) else fields)]
        body = urlencode(pairs, doseq=True)
        usual = {
            "Origin": f"http://{self.host}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.ask("POST", path, body=body, headers={**usual, **headers})


@contextmanager
def serving(folder, **settings):
    """A server in a thread of this process."""
    from tabveil.web.server import Served  # noqa: PLC0415 - the extra may be missing

    served = Served(folder, **settings)
    thread = threading.Thread(target=served.run, daemon=True)
    thread.start()
    waited_for(lambda: served.answers)
    try:
        yield served
    finally:
        served.stop()
        thread.join(20)
        let_go(served.desk.jobs)


def let_go(jobs):
    """Wait for the processes that a server started; a test must have ended what would last."""
    for child in jobs._children:
        child.wait(60)


def raw(host, lines, *, body=b"", timeout=10):
    """Send a request as it stands; returns the status, or None where nothing came."""
    name, port = host.split(":")
    with socket.create_connection((name, int(port)), timeout=timeout) as plug:
        plug.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        found = b""
        while chunk := plug.recv(65536):
            found += chunk
    return int(found.split()[1]) if found else None, found


def raw_status(host, lines, **more):
    return raw(host, lines, **more)[0]
