"""The server listens to this machine alone; two of them on one folder see the same."""

import socket

import pytest
from supplies.daemons import waited_for
from supplies.web_client import Client, let_go, serving

from tabveil.errors import TabveilError
from tabveil.web import server
from tabveil.web.server import ADDRESS, Served, open_browser


def own_addresses():
    """Addresses of this machine that others can reach, if it has any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        try:
            plug.connect(("192.0.2.1", 9))  # sends nothing
            found = plug.getsockname()[0]
        except OSError:
            return []
    return [] if found.startswith("127.") else [found]


def test_it_is_bound_to_this_machine_alone(served):
    host, port = served.desk.host.split(":")
    assert (ADDRESS, host) == ("127.0.0.1", "127.0.0.1")
    assert served._socket.getsockname() == ("127.0.0.1", int(port))
    for address in [*own_addresses(), "127.0.0.2"]:
        with pytest.raises(ConnectionRefusedError), socket.create_connection((address, int(port)), timeout=5):
            pass


def test_a_port_that_is_taken_is_told_and_so_is_a_folder_that_is_none(served, tmp_path):
    with pytest.raises(TabveilError, match=r"--port: .* cannot be used"):
        Served(tmp_path, port=int(served.desk.host.split(":")[1]))
    with pytest.raises(TabveilError, match="--folder: there is no folder"):
        Served(tmp_path / "nowhere")


def test_two_browsers_have_two_sessions_and_see_the_same(served, client):
    client.post("/projects", {"name": "one"})
    link = client.post("/browser").text.split("<code>")[1].split("</code>")[0]
    assert link.startswith(f"http://{served.desk.host}/enter?key=")
    second = Client(link).enter()
    assert second.cookie != client.cookie
    assert "/p/one" in second.get("/").text
    assert Client(link).ask("GET", second.link).status == 403
    second.post("/leave")
    assert second.get("/").status == 403
    assert client.get("/").status == 200


def test_two_servers_on_one_folder(served, client, folder):
    with serving(folder) as other:
        second = Client(other.link).enter()
        assert other.desk.cookie != served.desk.cookie
        client.post("/projects", {"name": "one"})
        assert second.post("/projects", {"name": "one"}).status == 400  # it is there already
        # The session of one opens nothing at the other, under either name.
        for cookie in (client.cookie, f"{other.desk.cookie}={client.cookie.split('=', 1)[1]}"):
            stranger = Client(other.link)
            stranger.cookie = cookie
            assert stranger.ask("GET", "/").status == 403
        done = client.post("/p/one/data", {"way": "three", "train": "train.csv", "control": "control.csv"})
        assert done.goes_to == "/p/one/columns"
        waited_for(lambda: "60 rows" in second.get("/p/one/columns").text)
        (run,) = (folder / "one" / "runs").iterdir()
        assert second.get(f"/p/one/runs/{run.name}").status == 200
        let_go(other.desk.jobs)
        let_go(served.desk.jobs)


def test_the_browser_is_opened_by_a_file_and_the_key_is_in_no_command_line(monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr(server.webbrowser, "open", lambda address: opened.append(address) or False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    open_browser("http://127.0.0.1:1/enter?key=secret")
    assert len(opened) == 1
    assert opened[0].startswith("file://")
    assert "secret" not in opened[0]
    assert list(tmp_path.iterdir()) == []  # nobody opened it, so it is gone


def test_the_file_that_opens_the_browser_is_its_owners(monkeypatch, tmp_path):
    seen = []

    def look(_):
        (file,) = tmp_path.iterdir()
        seen.append((file.stat().st_mode & 0o777, file.read_text()))
        return False

    monkeypatch.setattr(server.webbrowser, "open", look)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    open_browser("http://127.0.0.1:1/enter?key=secret")
    ((mode, text),) = seen
    assert mode == 0o600
    assert "url=http://127.0.0.1:1/enter?key=secret" in text
