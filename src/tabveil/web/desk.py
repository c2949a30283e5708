"""What every page of a server needs: the folder, its jobs, who may come in, and how a page is written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tabveil.errors import TabveilError
from tabveil.render import html
from tabveil.version import __version__
from tabveil.web.forms import Form
from tabveil.web.guard import FORM_TOKEN, Refused
from tabveil.web.jobs import Jobs
from tabveil.web.keys import Keys
from tabveil.web.places import Below
from tabveil.web.projects import Project

Page = Callable[[Request], Response]


@dataclass(frozen=True)
class Desk:
    """One server's things."""

    below: Below
    jobs: Jobs
    keys: Keys
    host: str  # as browsers name it: 127.0.0.1:8000

    @property
    def cookie(self) -> str:
        """The cookie's name; all ports of a machine share cookies, so another server has another."""
        return f"tabveil-{self.host.rpartition(':')[2]}"

    def link(self, token: str) -> str:
        """Return the address that opens the pages once."""
        return f"http://{self.host}/enter?key={token}"

    def project(self, request: Request) -> Project:
        """Return the project that a page is about."""
        try:
            found = Project.named(self.below, request.path_params["project"])
            found.file  # noqa: B018 - refused here if it cannot be read
        except TabveilError:
            raise Refused(404) from None
        return found

    def page(
        self,
        request: Request,
        template: str,
        *,
        error: str = "",
        status: int = 200,
        **parts: Any,  # noqa: ANN401 - whatever the template writes
    ) -> Response:
        """Answer with a page; ``error`` says what was wrong with a form."""
        text = html.filled(
            template,
            package="tabveil.web",
            token_name=FORM_TOKEN,
            token=request.state.form_token,
            version=__version__,
            error=self.harmless(error),
            **parts,
        )
        return HTMLResponse(text, status_code=400 if error else status)

    def harmless(self, text: str) -> str:
        """Take the folder out of a message: nobody needs to read where it lies."""
        root = str(self.below.root)
        return text if root == "/" else text.replace(f"{root}/", "").replace(root, "the folder")


def form_of(request: Request) -> Form:
    """Return what a form sent."""
    found: Mapping[str, list[str]] = request.state.form
    return found


def go_to(*parts: str) -> Response:
    """Let the browser open another page, after something was changed."""
    from urllib.parse import quote  # noqa: PLC0415 - one use

    return RedirectResponse("/" + "/".join(quote(part, safe="") for part in parts), status_code=303)


def file_of(folder: Path, name: str) -> bytes:
    """Return a file that a job wrote."""
    path = folder / name
    if path.is_symlink() or not path.is_file():
        raise Refused(404)
    return path.read_bytes()
