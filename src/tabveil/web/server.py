"""The server: bound to 127.0.0.1 and to nothing else, and quiet."""

import asyncio
import atexit
import socket
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Timer
from typing import Any

import uvicorn

from tabveil.errors import ParameterError
from tabveil.web.app import application
from tabveil.web.desk import Desk
from tabveil.web.jobs import Jobs
from tabveil.web.keys import Keys
from tabveil.web.places import Below

ADDRESS = "127.0.0.1"
"""This machine, and no other can reach it."""

_TICK = 1.0
_FOREVER = 10 * 365 * 86400.0
_BROWSER_SECONDS = 30.0


@dataclass
class Served:
    """A server that listens; it answers once it runs."""

    folder: Path
    port: int = 0
    at_once: int = 1
    failed: Callable[[Exception], None] = lambda _error: None
    desk: Desk = field(init=False)
    link: str = field(init=False)

    def __post_init__(self) -> None:
        """Take the port, and make the first link."""
        root = self.folder.resolve()
        if not root.is_dir():
            raise ParameterError("--folder", f"there is no folder {self.folder}.")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((ADDRESS, self.port))
            self._socket.listen(128)  # who opens the link at once waits for the answer
        except OSError as error:
            self._socket.close()
            raise ParameterError("--port", f"{self.port} cannot be used: {error.strerror}.") from None
        host = f"{ADDRESS}:{self._socket.getsockname()[1]}"
        keys = Keys()
        self.desk = Desk(Below(root), Jobs(root, at_once=self.at_once), keys, host)
        self.link = self.desk.link(keys.new_link(seconds=_FOREVER))
        settings: dict[str, Any] = {"ws": "none", "http": "h11", "loop": "asyncio", "lifespan": "off"}
        settings |= {"access_log": False, "log_config": None, "server_header": False, "date_header": False}
        settings |= {"proxy_headers": False, "timeout_graceful_shutdown": 3, "timeout_keep_alive": 15}
        self._server = uvicorn.Server(uvicorn.Config(application(self.desk, self.failed), **settings))

    def run(self) -> None:
        """Answer until somebody ends it; jobs go on without it."""
        try:
            asyncio.run(self._serve())
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Let it end."""
        self._server.should_exit = True

    @property
    def answers(self) -> bool:
        """Whether it has begun."""
        return bool(self._server.started)

    async def _serve(self) -> None:
        clock = asyncio.create_task(self._start_what_waits())
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            clock.cancel()

    async def _start_what_waits(self) -> None:
        while True:
            try:
                await asyncio.to_thread(self.desk.jobs.go_on)
            except Exception as error:  # noqa: BLE001 - the next job must not wait for ever
                self.failed(error)
            await asyncio.sleep(_TICK)


def open_browser(link: str) -> None:
    """Open a browser by a file that only its owner can read: others on this machine see command lines."""
    head = '<!DOCTYPE html><meta charset="utf-8"><title>tabveil</title>'
    page = f'{head}<meta http-equiv="refresh" content="0;url={link}">'
    with NamedTemporaryFile("w", suffix=".html", prefix="tabveil-", delete=False, encoding="utf-8") as file:
        file.write(page)
    place = Path(file.name)
    atexit.register(place.unlink, missing_ok=True)
    if webbrowser.open(place.as_uri()):
        clock = Timer(_BROWSER_SECONDS, lambda: place.unlink(missing_ok=True))
        clock.daemon = True
        clock.start()
    else:
        place.unlink(missing_ok=True)
