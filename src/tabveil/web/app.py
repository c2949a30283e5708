"""The pages of one server, behind their guard."""

from collections.abc import Callable
from importlib import resources

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, Router

from tabveil.render.html import sheet
from tabveil.web.audit_pages import AuditPages
from tabveil.web.desk import Desk
from tabveil.web.guard import ENTER, App, Guard, Receive, Refused, Scope, Send
from tabveil.web.project_pages import ProjectPages
from tabveil.web.run_pages import RunPages

_PROJECT = "/p/{project}"
_RUN = f"{_PROJECT}/runs/{{run}}"


def routes(desk: Desk) -> list[Route]:
    """Return every page, and everything that a form can do."""
    setting_up, asking, running = ProjectPages(desk), AuditPages(desk), RunPages(desk)
    read = {
        "/": setting_up.projects,
        _PROJECT: setting_up.project,
        f"{_PROJECT}/data": setting_up.data,
        f"{_PROJECT}/columns": setting_up.columns,
        f"{_PROJECT}/split": setting_up.split,
        f"{_PROJECT}/release": asking.releases,
        f"{_PROJECT}/release/{{generator}}": asking.generator,
        f"{_PROJECT}/audit": asking.audit,
        f"{_PROJECT}/study": running.study,
        f"{_PROJECT}/compare": running.compare,
        _RUN: running.run,
        f"{_RUN}/progress": running.progress,
        f"{_RUN}/sign": running.sign,
        f"{_RUN}/bundle.zip": running.bundle,
        f"{_RUN}/file/{{file}}": running.file,
        f"{_PROJECT}/signed/{{file}}": running.signature,
        ENTER: _entering(desk),
        "/style.css": _sheet,
        "/watch.js": _script,
        "/icon.svg": _icon,
    }
    done = {
        "/projects": setting_up.new,
        "/browser": setting_up.another_browser,
        "/leave": setting_up.leave,
        f"{_PROJECT}/data": setting_up.choose_data,
        f"{_PROJECT}/columns": setting_up.correct_columns,
        f"{_PROJECT}/look": setting_up.look_again,
        f"{_PROJECT}/split": setting_up.hold_back,
        f"{_PROJECT}/release": asking.name_release,
        f"{_PROJECT}/release/{{generator}}": asking.make,
        f"{_PROJECT}/audit": asking.start,
        f"{_PROJECT}/audit/begin": asking.begin_with,
        f"{_PROJECT}/study": running.start_study,
        f"{_PROJECT}/compare": running.side_by_side,
        f"{_RUN}/cancel": running.cancel,
        f"{_RUN}/again": running.again,
        f"{_RUN}/sign": running.signed,
    }
    return [
        *(Route(path, page, methods=["GET"]) for path, page in read.items()),
        *(Route(path, page, methods=["POST"]) for path, page in done.items()),
    ]


def application(desk: Desk, failed: Callable[[Exception], None]) -> App:
    """Return all of it, closed to whoever has no session."""
    router = Router(routes(desk), redirect_slashes=False, default=_nothing)
    return Guard(router, desk.keys, host=desk.host, cookie=desk.cookie, failed=failed)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - the shape of an application
    raise Refused(404)


def _entering(desk: Desk) -> Callable[[Request], Response]:
    def enter(request: Request) -> Response:
        """Take a link for a session; then let the page open the others itself, as the cookie wants it."""
        session = desk.keys.open_session(request.query_params.get("key", ""))
        if session is None:
            raise Refused(403)
        page = (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>tabveil</title>'
            '<link rel="icon" href="/icon.svg"><meta name="color-scheme" content="light dark">'
            '<meta http-equiv="refresh" content="0;url=/"></head>'
            '<body><p><a href="/">Open the pages</a></p></body></html>'
        )
        answer = HTMLResponse(page, headers={"referrer-policy": "no-referrer"})
        answer.set_cookie(desk.cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    return enter


def _sheet(_: Request) -> Response:
    ours = resources.files("tabveil.web").joinpath("templates", "web.css").read_text(encoding="utf-8")
    return Response(f"{sheet()}\n{ours}", media_type="text/css")


def _icon(_: Request) -> Response:
    square = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path fill="#14735a" d="M0 0h8v2H0z'
    return Response(f'{square}M0 3h3v5H0zM4 3h4v5H4z"/></svg>', media_type="image/svg+xml")


def _script(_: Request) -> Response:
    script = resources.files("tabveil.web").joinpath("templates", "watch.js").read_text(encoding="utf-8")
    return Response(script, media_type="text/javascript")
