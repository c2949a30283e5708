"""Pages about what runs and what was found: progress, the report as it is, signatures, comparisons, files."""

import datetime as dt
import io
import json
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tabveil.core.storage.files import Unreadable, read_json
from tabveil.core.wording import begin
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.registry import METRICS
from tabveil.render.svg import state_key
from tabveil.web import making, runner, signing
from tabveil.web.desk import Desk, file_of, form_of, go_to
from tabveil.web.forms import one, verbatim
from tabveil.web.guard import REPORT_POLICY, Refused
from tabveil.web.jobs import OVER, READ_BY_COMMANDS, Asked, Run, State, new_folder
from tabveil.web.projects import Project, Rows

FILES: Mapping[str, tuple[str, str]] = {
    "report.html": ("text/html; charset=utf-8", "The report, to read, print and file"),
    "compare.html": ("text/html; charset=utf-8", "The comparison"),
    "report.json": ("application/json", "All numbers (JSON)"),
    "audit.yaml": ("text/plain; charset=utf-8", "What was asked (YAML for the command line)"),
    "release.yaml": ("text/plain; charset=utf-8", "How the release is made (YAML for the command line)"),
    "stdout.txt": ("text/plain; charset=utf-8", "What the command printed"),
}
"""What may be read of a run, how it is sent, and what it is."""

MOST_COMPARED = 50
_REPORT: tuple[str, ...] = ("report.json", "report.html")
_WRITTEN = ("--html", "report.html", "--json", "report.json", "--force")
_STEP = 5.0
"""Seconds left are told in steps."""
_STUDIES: Mapping[str, str] = {
    "pipeline": "A pipeline: make a release in steps, and audit each",
    "tune": "A search for the settings of a generator",
    "benchmark": "A study of metrics by a known risk",
}


@dataclass(frozen=True)
class RunPages:
    """The pages of a server that are about jobs and what they found."""

    desk: Desk

    def run(self, request: Request, error: str = "") -> Response:
        """Show one run."""
        project, job = self._run(request)
        state = job.state
        return self.desk.page(
            request,
            "run.html.j2",
            error=error,
            project=project,
            job=job,
            state=state,
            over=state in OVER,
            own=self.desk.jobs.is_own(job),
            said=job.said(),
            printed=job.said(runner.OUT) if state == "done" and job.asked.kind != "audit" else "",
            files=[(name, told) for name, (_, told) in FILES.items() if (job.folder / name).is_file()],
            verdict=verdict_of(job) if state == "done" else None,
            signatures=[
                (name, signature, signature.changed(job.folder))
                for name, signature in signing.of_run(project.folder, job.name)
            ],
            **self._how_far(job, state),
        )

    def progress(self, request: Request) -> Response:
        """Say how far a run is, for a page that shows it already."""
        _, job = self._run(request)
        state = job.state
        if state in OVER:
            return HTMLResponse("", headers={"x-over": "yes"})
        return self.desk.page(request, "progress.html.j2", job=job, state=state, **self._how_far(job, state))

    def _how_far(self, job: Run, state: State) -> dict[str, Any]:
        """Return what is told of a run that is not over."""
        if state == "waiting":
            others = (other for other in self.desk.jobs.open() if other.asked.light is job.asked.light)
            return {"ahead": sum(1 for other in others if other.name < job.name), "found": None}
        found = job.progress if state == "running" else None
        parts = {} if found is None else found.parts
        titles = {name: METRICS[name].title if name in METRICS else begin(name) for name in parts}
        left = None if found is None or found.left is None else math.ceil(found.left / _STEP) * _STEP or _STEP
        return {"ahead": 0, "found": found, "titles": titles, "left": left}

    def cancel(self, request: Request) -> Response:
        """End a run, as Ctrl-C does, or at once."""
        project, job = self._run(request)
        if job.state not in OVER:
            self.desk.jobs.cancel(job, at_once=one(form_of(request), "how") == "at once" and job.stopped > 0)
        return go_to("p", project.name, "runs", job.name)

    def again(self, request: Request) -> Response:
        """Ask for the same once more."""
        project, job = self._run(request)
        if job.state not in OVER:
            return self.run(request, error="it has not ended yet.")
        if not self.desk.jobs.is_own(job):
            return self.run(request, error="it was asked for elsewhere; ask for it by the forms.")
        try:
            folder = new_folder(project.folder)
            for name in READ_BY_COMMANDS:
                if (job.folder / name).is_file():
                    (folder / name).write_bytes(file_of(job.folder, name))
            found = self.desk.jobs.ask(folder, job.asked)
        except TabveilError as fault:
            return self.run(request, error=str(fault))
        return go_to("p", project.name, "runs", found.name)

    def file(self, request: Request) -> Response:
        """Send what a run wrote: to be read here, or kept."""
        project, job = self._run(request)
        name = request.path_params["file"]
        if name not in FILES:
            raise Refused(404)
        headers = {"content-security-policy": REPORT_POLICY, "referrer-policy": "no-referrer"}
        if "keep" in request.query_params:
            headers["content-disposition"] = f'attachment; filename="{_plain(project.name)}-{name}"'
        return Response(file_of(job.folder, name), media_type=FILES[name][0], headers=headers)

    def bundle(self, request: Request) -> Response:
        """Send what was asked, found and signed in one file, with the digests of all."""
        project, job = self._run(request)
        found = {name: file_of(job.folder, name) for name in signing.FILES if (job.folder / name).is_file()}
        if job.state != "done" or not found:
            raise Refused(404)
        for name, _ in signing.of_run(project.folder, job.name):
            found[f"signed/{name}"] = file_of(project.folder / signing.SIGNED, name)
        digests = {name: signing.sha256(data) for name, data in found.items()}
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in found.items():
                archive.writestr(name, data)
            archive.writestr("digests.json", json.dumps(digests, indent=2))
        kept = f'attachment; filename="{_plain(project.name)}-{job.name}.zip"'
        return Response(held.getvalue(), media_type="application/zip", headers={"content-disposition": kept})

    def sign(self, request: Request, error: str = "") -> Response:
        """Show what is signed, and the form."""
        project, job = self._run(request)
        verdict = verdict_of(job)
        if job.asked.kind != "audit" or job.state != "done" or verdict is None:
            raise Refused(404)
        form = form_of(request) if error else {}
        return self.desk.page(
            request,
            "sign.html.j2",
            error=error,
            project=project,
            job=job,
            verdict=verdict,
            decisions=signing.DECISIONS,
            seen=signing.digest_of(job.folder / "report.json"),
            form={key: one(form, key) for key in ("name", "role", "decision", "reasons", "repeat_by")},
            today=f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}",
        )

    def signed(self, request: Request) -> Response:
        """Write a signature."""
        project, job = self._run(request)
        if job.asked.kind != "audit" or job.state != "done":
            raise Refused(404)
        form = form_of(request)
        said = {key: one(form, key) for key in ("name", "role", "decision", "reasons", "repeat_by")}
        try:
            if one(form, "read") != "yes":
                raise ParameterError("the report", "say that you have read it.")
            signing.sign(project.folder, job.folder, seen=one(form, "seen"), said=said)
        except TabveilError as fault:
            return self.sign(request, error=str(fault))
        return go_to("p", project.name, "runs", job.name)

    def signature(self, request: Request) -> Response:
        """Send a signature."""
        project = self.desk.project(request)
        name = request.path_params["file"]
        if name not in {path.name for path in (project.folder / signing.SIGNED).glob("*.json")}:
            raise Refused(404)
        kept = f'attachment; filename="{name}"'
        found = file_of(project.folder / signing.SIGNED, name)
        return Response(found, media_type="application/json", headers={"content-disposition": kept})

    def compare(self, request: Request, error: str = "") -> Response:
        """Choose reports to set side by side."""
        project = self.desk.project(request)
        done = [
            (job, verdict)
            for job in self.desk.jobs.of(project.folder)
            if job.asked.kind == "audit" and job.state == "done" and (verdict := verdict_of(job)) is not None
        ]
        return self.desk.page(
            request, "compare.html.j2", error=error, project=project, done=done[:MOST_COMPARED]
        )

    def side_by_side(self, request: Request) -> Response:
        """Set reports side by side."""
        project = self.desk.project(request)
        try:
            jobs = [project.job(name) for name in form_of(request).get("run", ())[:MOST_COMPARED]]
            if len(jobs) < 2:  # noqa: PLR2004 - that is what comparing is
                raise ParameterError("compare", "choose at least two reports.")
            folder = new_folder(project.folder)
            names = _names([job.asked.about.get("release", job.name) for job in jobs])
            for name, job in zip(names, jobs, strict=True):  # a report is called by its file
                (folder / name).write_bytes(file_of(job.folder, "report.json"))
            words = ["compare", *names, "--html", "compare.html"]
            titles = ", ".join(name.removesuffix(".json") for name in names)
            makes = ("compare.html",)
            asked = Asked(
                kind="compare",
                title=f"Compare {titles}"[:200],
                commands=(tuple(words),),
                makes=makes,
                light=True,
            )
            job = self.desk.jobs.ask(folder, asked)
        except TabveilError as fault:
            return self.compare(request, error=str(fault))
        return go_to("p", project.name, "runs", job.name)

    def study(self, request: Request, error: str = "") -> Response:
        """Choose a file that says what is to be run."""
        project = self.desk.project(request)
        form = form_of(request) if error else {}
        return self.desk.page(
            request, "study.html.j2", error=error, project=project, studies=_STUDIES,
            files=self.desk.below.settings(), tables=self.desk.below.tables(),
            form={key: verbatim(form, key) for key in ("kind", "file", "data")},
        )  # fmt: skip

    def start_study(self, request: Request) -> Response:
        """Run a pipeline, a search or a study from its file."""
        project, form = self.desk.project(request), form_of(request)
        try:
            job = self.desk.jobs.ask(*self._study(project, form))
        except TabveilError as fault:
            return self.study(request, error=str(fault))
        return go_to("p", project.name, "runs", job.name)

    def _study(self, project: Project, form: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a folder and what is asked
        kind, name = one(form, "kind"), verbatim(form, "file")
        if kind not in _STUDIES:
            raise ParameterError("kind", "choose what the file is.")
        if not name:
            raise ParameterError("file", "choose one.")
        config = str(self.desk.below.file(name))
        store = f"../../stores/{kind}-{signing.sha256(name.encode())[:12]}"
        title, makes = f"{kind} {name}"[:200], _REPORT
        commands: list[tuple[str, ...]]
        about: dict[str, str] = {}
        match kind:
            case "tune":
                commands = [("tune", "--config", config, "--store", store, *_WRITTEN)]
            case "benchmark":
                commands = [
                    ("benchmark", "run", config, "--store", store),
                    ("benchmark", "report", store, *_WRITTEN),
                ]
            case _:
                real, about = self._rows(project, verbatim(form, "data"))
                commands = [("pipeline", "--config", config, *real, "--out", making.OUT, *_WRITTEN)]
                makes = (*_REPORT, making.OUT)
                about = {**about, "release": title, "out": making.OUT} if about else {}
        (project.folder / "stores").mkdir(exist_ok=True)
        asked = Asked(
            kind=kind, title=title, commands=tuple(commands), fine=(0, 1, 3), makes=makes, about=about
        )
        return new_folder(project.folder), asked

    def _rows(self, project: Project, data: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the real rows of a pipeline as options, and what it learns from if that is all of train.

        Of a table that was chosen here, or where there is no control, the pipeline holds back rows itself.
        """
        if data:
            return ("--data", str(self.desk.below.file(data))), {}
        rows = Rows.of(project, self.desk.jobs)
        if rows.train is None:
            raise ParameterError("data", "choose the real rows.")
        options = ["--data", str(rows.train)]
        options += ["--control", str(rows.control)] if rows.control else []
        options += ["--schema", str(project.schema)] if project.schema else []
        options += [word for text in project.file.missing for word in ("--missing", text)]
        return tuple(options), {"train": self.desk.below.name(rows.train)} if rows.control else {}

    def _run(self, request: Request) -> tuple[Project, Run]:
        project = self.desk.project(request)
        try:
            return project, project.job(request.path_params["run"])
        except TabveilError:
            raise Refused(404) from None


def verdict_of(job: Run) -> dict[str, Any] | None:
    """Return the verdict of a run's report: its state, its sentence, and what pages show of both."""
    try:
        found = read_json(job.folder / "report.json")["verdict"]
        return {"key": state_key(found["state"]), "state": found["state"], "sentence": found["sentence"]}
    except (OSError, Unreadable, LookupError, TypeError):
        return None


def _names(titles: Sequence[str]) -> list[str]:
    """Return names of files for reports, each once, by what their releases are called.

    >>> _names(["trees", "trees", "../a/b"])
    ['trees.json', 'trees (2).json', 'a-b.json']
    """
    found: list[str] = []
    for title in titles:
        stem = re.sub(r"[^\w ,()-]+", "-", title).strip(" -") or "release"
        again = sum(1 for name in found if name == f"{stem}.json" or name.startswith(f"{stem} ("))
        found.append(f"{stem} ({again + 1}).json" if again else f"{stem}.json")
    return found


def _plain(name: str) -> str:
    return name.replace(" ", "-")
