"""Whatever is not allowed reaches no page: each line of the threat model, asked of the server itself."""

import re
from html.parser import HTMLParser

import pytest
from supplies.web_client import Client, raw, raw_status, serving

from tabveil.web import guard
from tabveil.web.app import routes
from tabveil.web.guard import ENTER, MOST_BODY, MOST_FIELDS

FILLED = {
    "project": "one",
    "run": "20260101-000000-000000-abcdef",
    "generator": "trees",
    "file": "report.html",
}
PATHS = [(next(iter(route.methods - {"HEAD"})), route.path) for route in routes(None)]
READ = [path for method, path in PATHS if method == "GET"]
DONE = [path for method, path in PATHS if method == "POST"]


def filled(path):
    return path.format(**FILLED)


def files(folder):
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".tabveil-lock"
    }


@pytest.fixture
def project(client, folder):
    assert client.post("/projects", {"name": "one"}).goes_to == "/p/one"
    return folder / "one"


def test_there_are_routes_to_walk():
    assert len(READ) > 15
    assert len(DONE) > 10
    assert set(READ) >= {"/", "/p/{project}", ENTER}


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_without_a_session_no_page_opens(served, method, path):
    stranger = Client(served.link)
    usual = {"Origin": f"http://{stranger.host}", "Content-Type": "application/x-www-form-urlencoded"}
    for cookie in (None, f"{served.desk.cookie}=", f"{served.desk.cookie}=abc", "session=abc"):
        stranger.cookie = cookie
        answer = stranger.ask(method, filled(path), body="a=1" if method == "POST" else None, headers=usual)
        assert answer.status == 403
        assert "set-cookie" not in answer.headers


def test_paths_that_are_no_page_are_closed_too(served, client):
    stranger = Client(served.link)
    for path in ("/nothing", "/p", "/docs", "/openapi.json", "/p/one/runs", "//", "/p/one/"):
        assert stranger.ask("GET", path).status == 403
        assert client.get(path).status == 404


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND"])
def test_no_other_method_is_answered(client, method):
    assert client.ask(method, "/").status in {400, 405}


HOSTS = [
    "{host}/",
    "{host}?",
    "{host}#",
    "{host}/@evil.example",
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1",
    "127.0.0.1:1",
    "localhost:{port}",
    "127.0.0.1.evil.example:{port}",
    "user@{host}",
    "[::1]:{port}",
    "0.0.0.0:{port}",
    "",
]


@pytest.mark.parametrize("name", HOSTS)
def test_the_raw_host_must_be_this_server(client, name):
    """Against DNS rebinding, and against addresses that are built anew from what the header says."""
    host = name.format(host=client.host, port=client.host.split(":")[1])
    lines = ["GET / HTTP/1.1", f"Host: {host}", f"Cookie: {client.cookie}", "Connection: close"]
    assert raw_status(client.host, lines) == 400


def test_the_right_host_alone_opens(client):
    own = f"Host: {client.host}"
    rest = [f"Cookie: {client.cookie}", "Connection: close"]
    assert raw_status(client.host, ["GET / HTTP/1.1", own, *rest]) == 200
    assert raw_status(client.host, ["GET / HTTP/1.1", *rest]) == 400
    assert raw_status(client.host, ["GET / HTTP/1.1", own, own, *rest]) == 400
    assert raw_status(client.host, ["GET / HTTP/1.1", own, "Host: evil.example", *rest]) == 400
    assert raw_status(client.host, ["GET http://evil.example/ HTTP/1.1", own, *rest]) == 400
    # What proxies say is not believed.
    told = ["X-Forwarded-Host: evil.example", "X-Forwarded-For: 1.2.3.4", "Forwarded: host=evil.example"]
    assert raw_status(client.host, ["GET / HTTP/1.1", own, *told, *rest]) == 200
    assert (
        raw_status(client.host, ["GET / HTTP/1.1", "Host: evil.example", f"X-Forwarded-{own}", *rest]) == 400
    )


ORIGINS = [
    None,
    "null",
    "",
    "http://evil.example",
    "https://{host}",
    "http://{host}/",
    "http://localhost:{port}",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "http://{host}.evil.example",
]


@pytest.mark.parametrize("path", DONE)
def test_what_changes_something_wants_the_exact_origin(client, project, folder, path):
    before = files(folder)
    for name in ORIGINS:
        origin = None if name is None else name.format(host=client.host, port=client.host.split(":")[1])
        sent = {"Origin": origin} if origin is not None else {}
        body = f"form_token={client.token}&name=two&read=yes"
        headers = {"Content-Type": "application/x-www-form-urlencoded", **sent}
        assert client.ask("POST", filled(path), body=body, headers=headers).status == 403
    assert client.post(filled(path), {}, **{"Sec-Fetch-Site": "same-site"}).status == 403
    assert files(folder) == before


@pytest.mark.parametrize("path", DONE)
def test_what_changes_something_wants_the_token_of_its_session(served, client, project, folder, path):
    other = Client(served.desk.link(served.desk.keys.new_link())).enter()
    other.get("/")
    before = files(folder)
    right = client.token
    for token in ("", "x", right[:-1], right + "x", other.token):
        client.token = token
        assert client.post(filled(path), {"name": "two"}).status == 403
    assert files(folder) == before


def test_a_form_must_be_one(client, project):
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/json", ""):
        assert client.post("/projects", {"name": "two"}, **{"Content-Type": kind}).status == 400


def test_the_cookie_is_for_this_server_alone(served):
    client = Client(served.link)
    cookie = client.ask("GET", client.link).headers["set-cookie"]
    name, *said = [part.strip().lower() for part in cookie.split(";")]
    assert {"httponly", "samesite=strict", "path=/"} <= set(said)
    assert not any(part.startswith(("domain", "max-age", "expires")) for part in said)
    assert name.startswith(f"tabveil-{served.desk.host.split(':')[1]}=")


def test_a_link_opens_once_and_is_nowhere_afterwards(served, folder, capfd):
    client = Client(served.link)
    key = client.link.split("key=")[1]
    first = client.ask("GET", client.link)
    assert first.status == 200
    assert first.headers["referrer-policy"] == "no-referrer"
    assert key not in first.text
    assert client.cookie.split("=", 1)[1] != key
    stranger = Client(served.link)
    assert stranger.ask("GET", stranger.link).status == 403
    assert client.ask("GET", client.link).status == 403
    for path in ("/", "/style.css", "/watch.js"):
        answer = client.get(path)
        assert answer.status == 200
        assert key not in answer.text + str(answer.headers)
        assert client.cookie.split("=", 1)[1] not in answer.text
    assert not any(key.encode() in data for data in files(folder).values())
    assert key not in "".join(capfd.readouterr())


@pytest.mark.parametrize("key", ["", "x", "%00", "a" * 5000])
def test_no_other_link_opens(served, key):
    stranger = Client(served.link)
    assert stranger.ask("GET", f"{ENTER}?key={key}").status == 403
    assert stranger.cookie is None


def test_a_session_can_be_left(client):
    assert client.post("/leave").status == 303
    assert client.get("/").status == 403


POLICY = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def test_every_answer_tells_browsers_to_keep_to_themselves(served, client, project):
    stranger = Client(served.link)
    answers = [client.get(filled(path)) for path in READ]
    answers += [stranger.ask("GET", filled(path)) for path in READ]
    answers += [client.post(filled(path)) for path in DONE if path != "/leave"]
    answers.append(client.post("/projects", {"name": "x" * MOST_BODY}))
    assert {answer.status for answer in answers} >= {200, 303, 400, 403, 404, 413}
    for answer in answers:
        for name, value in POLICY.items():
            assert value in answer.headers[name]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "unsafe-eval" not in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] in {"same-origin", "no-referrer"}
        assert not any(name.startswith("access-control") for name in answer.headers)
        assert "server" not in answer.headers


def test_no_other_origin_may_read_and_nothing_is_upgraded(client):
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "GET"}
    assert not any(
        name.startswith("access-control") for name in client.ask("GET", "/", headers=headers).headers
    )
    lines = ["GET / HTTP/1.1", f"Host: {client.host}", f"Cookie: {client.cookie}", "Upgrade: websocket"]
    lines += [
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    connection = raw_status(client.host, [*lines[:3], "Connection: close", *lines[3:]])
    assert connection != 101


def test_bodies_have_an_end(client):
    assert client.post("/projects", {"name": "x" * MOST_BODY}).status == 413
    body = "&".join(["a=1"] * (MOST_FIELDS + 1))
    assert len(body) < MOST_BODY
    headers = {"Origin": f"http://{client.host}", "Content-Type": "application/x-www-form-urlencoded"}
    assert client.ask("POST", "/projects", body=body, headers=headers).status == 400
    lines = ["POST /projects HTTP/1.1", f"Host: {client.host}", f"Cookie: {client.cookie}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    chunk = f"{MOST_BODY + 1:x}\r\n{'x' * (MOST_BODY + 1)}\r\n0\r\n\r\n".encode()
    told = [*lines, "Transfer-Encoding: chunked", "Connection: close"]
    assert raw_status(client.host, told, body=chunk) == 413


def test_a_body_that_never_comes_is_not_waited_for(client, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.1)
    lines = [
        "POST /projects HTTP/1.1",
        f"Host: {client.host}",
        f"Cookie: {client.cookie}",
        "Content-Length: 9",
    ]
    lines += [f"Origin: http://{client.host}", "Content-Type: application/x-www-form-urlencoded"]
    assert raw_status(client.host, lines) == 400


def test_an_error_page_says_nothing_of_what_went_wrong(folder, monkeypatch, capfd):
    secret = f"{folder}/somebody's secret"

    def fail(*_args, **_more):
        raise RuntimeError(secret)

    heard = []
    with serving(folder, failed=heard.append) as served:
        client = Client(served.link).enter()
        token = client.get("/") and client.token
        monkeypatch.setattr("tabveil.web.project_pages.Project.all", fail)
        for answer in (client.get("/"), client.post("/projects", {"name": "*"})):
            assert answer.status == 500
            assert not re.search(r"secret|Traceback|RuntimeError|File|line \d", answer.text)
            assert str(folder) not in answer.text
            assert token not in answer.text
    assert [str(error) for error in heard] == [secret, secret]
    assert "secret" not in "".join(capfd.readouterr())


def test_what_cannot_be_parsed_is_refused_in_order(client):
    for line in ("GET /\x01 HTTP/1.1", "nonsense", "GET /%00 HTTP/1.1", "GET /p/%2e%2e HTTP/1.1"):
        status, found = raw(
            client.host, [line, f"Host: {client.host}", f"Cookie: {client.cookie}", "Connection: close"]
        )
        assert status is None or 400 <= status < 500
        assert b"Traceback" not in found


class Elements(HTMLParser):
    """What stands on a page: elements with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


EVIL = "a<script>alert(1)<'\"&{{7*7}}<img src=x onerror=alert(1)>.csv".replace("/", "")


def test_names_of_files_are_inert(client, folder):
    (folder / EVIL).write_bytes((folder / "train.csv").read_bytes())
    (folder / "javascript:alert(1).csv").write_bytes(b"a\n1\n")
    client.post("/projects", {"name": "one"})
    answer = client.get("/p/one/data")
    found = Elements(answer.text).found
    assert not any(tag in {"script", "img", "iframe", "object"} for tag, _ in found)
    assert not any(name.startswith("on") for _, attributes in found for name in attributes)
    assert EVIL in [attributes.get("value") for tag, attributes in found if tag == "option"]
    assert "49" not in answer.text.split("<main")[1]
    done = client.post("/p/one/data", {"way": "three", "train": EVIL, "control": "control.csv"})
    assert done.status == 303
    for path in ("/", "/p/one", "/p/one/data"):
        assert not any(tag in {"script", "img"} for tag, _ in Elements(client.get(path).text).found)
