"""Pages that ask: how a release is made, or which one is named, and what an audit of it is to do."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tabveil.core.storage.files import write_text
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.registry import METRICS, defaults, explain
from tabveil.synthesis.generators import GENERATORS
from tabveil.web import asking, making
from tabveil.web.desk import Desk, form_of, go_to
from tabveil.web.forms import Form, label_of, one, verbatim
from tabveil.web.guard import Refused
from tabveil.web.jobs import Asked, Run, new_folder
from tabveil.web.project_pages import column_names
from tabveil.web.projects import MAKING, MOST_RELEASES, Project, Rows
from tabveil.workflows import synthesizing

REQUEST = "audit.yaml"
_LONGEST = 80


@dataclass(frozen=True)
class AuditPages:
    """The pages of a server that ask for releases and audits."""

    desk: Desk

    def releases(self, request: Request, error: str = "") -> Response:
        """Show what releases there are, and how more can come."""
        project = self.desk.project(request)
        rows = Rows.of(project, self.desk.jobs)
        form = form_of(request) if error else {}
        return self.desk.page(
            request,
            "releases.html.j2",
            error=error,
            project=project,
            rows={name: self.desk.below.name(path) for name, path in rows.releases.items()},
            has_train=rows.train is not None,
            generators=[(name, synthesizing.summary(kind)) for name, kind in GENERATORS.items()],
            tables=self.desk.below.tables(),
            form={key: verbatim(form, key) for key in ("release", "file")},
        )

    def name_release(self, request: Request) -> Response:
        """Take note of a release that is there already."""
        project, form = self.desk.project(request), form_of(request)
        try:
            name, place = one(form, "release"), verbatim(form, "file")
            if not place:
                raise ParameterError("file", "choose one.")
            self.desk.below.file(place)
            self._require_new(project, name)
            file = project.file
            if place in {file.data, file.train, file.control}:
                raise ParameterError("file", "holds the real rows.")
            project.change(releases={**file.releases, name: place})
        except TabveilError as fault:
            return self.releases(request, error=str(fault))
        return go_to("p", project.name, "release")

    def _require_new(self, project: Project, name: str) -> None:
        if not 0 < len(name) <= _LONGEST:
            raise ParameterError("name", f"must have 1 to {_LONGEST} characters.")
        jobs = self.desk.jobs.of(project.folder)
        made = {
            job.asked.about.get("release")
            for job in jobs
            if job.asked.kind in MAKING and job.state not in {"failed", "cancelled", "killed"}
        }
        if name in {*project.file.releases, *made}:
            raise ParameterError("name", "another release is called so; give it another name.")
        if len(project.file.releases) >= MOST_RELEASES:
            raise ParameterError(
                "name", f"there are {MOST_RELEASES} releases already; begin another project."
            )

    def generator(self, request: Request, error: str = "") -> Response:
        """Show the settings of a generator."""
        project, name = self.desk.project(request), request.path_params["generator"]
        if name not in GENERATORS:
            raise Refused(404)
        form = form_of(request) if error else {}
        return self.desk.page(
            request,
            "generator.html.j2",
            error=error,
            project=project,
            generator=name,
            summary=synthesizing.summary(GENERATORS[name]),
            settings=[field.filled(form) for field in making.fields(name)],
            around=[field.filled(form) for field in making.fields_around()],
            name=one(form, "release") or name,
        )

    def make(self, request: Request) -> Response:
        """Make a release."""
        project, generator = self.desk.project(request), request.path_params["generator"]
        if generator not in GENERATORS:
            raise Refused(404)
        form = form_of(request)
        try:
            rows, name = Rows.of(project, self.desk.jobs), one(form, "release")
            if rows.train is None:
                raise ParameterError(
                    "train", "there are no rows to learn from yet: choose tables, hold back rows."
                )
            self._require_new(project, name)
            schema = None if project.schema is None else "../../schema.yaml"
            said = making.asked(generator, form, schema=schema, missing=project.file.missing)
            folder = new_folder(project.folder)
            write_text(folder / "release.yaml", making.file(said))
            words = ("synthesize", "--data", str(rows.train), "--config", "release.yaml", "--out", making.OUT)
            about = {"out": making.OUT, "train": self.desk.below.name(rows.train), "release": name}
            job = self.desk.jobs.ask(
                folder,
                Asked(kind="make", title=f"Make {name}", commands=(words,), makes=(making.OUT,), about=about),
            )
        except TabveilError as fault:
            return self.generator(request, error=str(fault))
        return go_to("p", project.name, "runs", job.name)

    def audit(self, request: Request, error: str = "") -> Response:
        """Show what an audit may be asked for."""
        project, form = self.desk.project(request), form_of(request) if error else {}
        rows, columns = Rows.of(project, self.desk.jobs), column_names(self.desk, project)
        said = self._earlier(project, request)
        try:
            shown = asking.AuditForm.of(said, columns, self.desk.below.listed((".json",)))
        except TabveilError:  # a file that somebody changed
            shown = asking.AuditForm.of({}, columns, self.desk.below.listed((".json",)))
        usual = set(defaults())
        return self.desk.page(
            request,
            "audit.html.j2",
            error=error,
            project=project,
            rows=rows,
            columns=columns,
            release=verbatim(form, "release")
            or request.query_params.get("release", "")
            or self._latest(project, rows),
            form=shown.filled(form) if error else shown,
            metrics=[(name, explain(kind), name in usual) for name, kind in METRICS.items()],
            role_names=[(name, label_of(name), asking.told(name)) for name in asking.ROLES],
            templates=list(asking.templates()),
            earlier=[job for job in self.desk.jobs.of(project.folder) if job.asked.kind == "audit"][:20],
        )

    def _latest(self, project: Project, rows: Rows) -> str:
        """Return the release that was not audited yet, or the last one."""
        jobs = self.desk.jobs.of(project.folder)
        audited = {job.asked.about.get("release") for job in jobs if job.asked.kind == "audit"}
        fresh = [name for name in rows.releases if name not in audited]
        return next(iter([*fresh, *reversed(list(rows.releases))]), "")

    def _earlier(self, project: Project, request: Request) -> dict[str, Any]:
        """Return what the form begins with: an earlier request, or a policy that accepts so much."""
        accepted = asking.templates().get(request.query_params.get("accept", ""))
        if accepted is not None:
            return {"policy": accepted.to_json()}
        try:
            job = project.job(request.query_params["like"])
        except (KeyError, TabveilError):
            return {}
        said = asking.read_file(job.folder / REQUEST)
        if isinstance(said.get("shadow"), str):
            said["shadow"] = self._below(job.folder / said["shadow"])
        return said

    def _below(self, path: Path) -> str:
        try:
            return self.desk.below.name(path.resolve())
        except (ValueError, OSError):
            return ""

    def begin_with(self, request: Request) -> Response:
        """Open the form with what was asked earlier."""
        form = form_of(request)
        said = {key: one(form, key) for key in ("like", "accept") if one(form, key)}
        return RedirectResponse(
            f"{request.url.path.removesuffix('/begin')}?{urlencode(said)}", status_code=303
        )

    def start(self, request: Request) -> Response:
        """Start an audit."""
        project, form = self.desk.project(request), form_of(request)
        try:
            job = self._ask(project, form)
        except TabveilError as fault:
            return self.audit(request, error=str(fault))
        return go_to("p", project.name, "runs", job.name)

    def _ask(self, project: Project, form: Form) -> Run:
        rows, release = Rows.of(project, self.desk.jobs), verbatim(form, "release")
        if rows.train is None:
            raise ParameterError("train", "there are no training rows yet: choose tables, or hold back rows.")
        if release not in rows.releases:
            raise ParameterError("release", "choose one.")
        tables: dict[str, Path | str] = {"train": rows.train, "synthetic": rows.releases[release]}
        if rows.control is not None:
            tables["control"] = rows.control
        if project.schema is not None:
            tables["schema"] = project.schema
        said = asking.plain(form, column_names(self.desk, project), tables)
        if shadow := said.get("shadow"):
            said["shadow"] = str(self.desk.below.file(shadow))
        if project.file.missing:
            said["missing"] = list(project.file.missing)
        asking.request_file(said, project.folder)  # complains before there is anything
        folder = new_folder(project.folder)
        requested, text = asking.request_file(said, folder)
        write_text(folder / REQUEST, text)
        words = (
            "audit",
            "--config",
            REQUEST,
            "--json",
            "report.json",
            "--html",
            "report.html",
            *asking.words(requested),
        )
        about = {"release": release}
        makes = ("report.json", "report.html")
        asked = Asked(
            kind="audit",
            title=f"Audit {release}",
            commands=(words,),
            fine=(0, 1, 3),
            makes=makes,
            about=about,
        )
        return self.desk.jobs.ask(folder, asked)
