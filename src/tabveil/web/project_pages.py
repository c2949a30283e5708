"""Pages that set a project up: which tables, what their columns are, which rows are held back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response

from tabveil.core.settings import values
from tabveil.core.storage.files import Unreadable, read_json
from tabveil.errors import ParameterError, TabveilError
from tabveil.tables.reading import declare
from tabveil.tables.reading.files import ending_of_parts
from tabveil.tables.reading.infer import TypeName
from tabveil.web import signing
from tabveil.web.desk import Desk, form_of, go_to
from tabveil.web.forms import Form, lines, one, verbatim
from tabveil.web.jobs import Asked, Run, new_folder
from tabveil.web.keys import LINK_SECONDS
from tabveil.web.projects import Project, ProjectFile, Rows

KINDS: tuple[str, ...] = get_args(TypeName)
LOOKED = "columns.json"
MOST_COLUMNS = 2000


@dataclass(frozen=True)
class ProjectPages:
    """The pages of a server that are about projects and their tables."""

    desk: Desk

    def projects(self, request: Request, error: str = "", link: str = "") -> Response:
        """List the projects."""
        found = []
        for project in Project.all(self.desk.below):
            try:
                tables = project.file.data or project.file.train or "none chosen yet"
            except TabveilError as fault:
                tables = str(fault)
            found.append((project, tables, next(iter(self.desk.jobs.of(project.folder, most=1)), None)))
        minutes = int(LINK_SECONDS // 60)
        return self.desk.page(
            request, "projects.html.j2", error=error, projects=found, link=link, minutes=minutes,
            typed=one(form_of(request), "name") if error else "", tables=len(self.desk.below.tables()),
        )  # fmt: skip

    def new(self, request: Request) -> Response:
        """Make a project."""
        try:
            project = Project.new(self.desk.below, one(form_of(request), "name"))
        except TabveilError as fault:
            return self.projects(request, error=str(fault))
        return go_to("p", project.name)

    def another_browser(self, request: Request) -> Response:
        """Show a link for another browser."""
        return self.projects(request, link=self.desk.link(self.desk.keys.new_link()))

    def leave(self, request: Request) -> Response:
        """End this session."""
        self.desk.keys.close(request.state.session)
        return go_to()

    def project(self, request: Request) -> Response:
        """Show the way, and how far a project has come on it."""
        project = self.desk.project(request)
        jobs = self.desk.jobs.of(project.folder)
        audits = [job for job in jobs if job.asked.kind == "audit"]
        return self.desk.page(
            request,
            "project.html.j2",
            project=project,
            file=project.file,
            rows=Rows.of(project, self.desk.jobs),
            looked=looked(self.desk, project),
            jobs=jobs[:50],
            n_jobs=len(jobs),
            audited=[job for job in audits if job.state == "done"],
            signed={job.name: signing.of_run(project.folder, job.name) for job in audits},
        )

    def data(self, request: Request, error: str = "") -> Response:
        """Choose the tables."""
        project = self.desk.project(request)
        file = project.file
        if error:
            form = form_of(request)
            data, train, control = (verbatim(form, name) for name in ("data", "train", "control"))
            file = ProjectFile(data=data, train=train, control=control, missing=lines(form, "missing"))
        return self.desk.page(
            request, "data.html.j2", error=error, project=project, file=file, tables=self.desk.below.tables()
        )

    def choose_data(self, request: Request) -> Response:
        """Take note of the tables, and look at them."""
        project, form = self.desk.project(request), form_of(request)
        try:
            whole = one(form, "way") != "three"
            said = {name: verbatim(form, name) for name in (("data",) if whole else ("train", "control"))}
            for name, place in said.items():
                if name != "control" or place:
                    if not place:
                        raise ParameterError(name, "choose a table.")
                    self.desk.below.file(place)
            if not whole and said["train"] == said["control"]:
                raise ParameterError("control", "must be another table than train.")
        except TabveilError as fault:
            return self.data(request, error=str(fault))
        nothing = {"data": "", "train": "", "control": ""}
        project.change(**{**nothing, **said}, missing=lines(form, "missing"))
        self._look(project)
        return go_to("p", project.name, "columns")

    def _look(self, project: Project) -> Run:
        """Let a process read the table: the server itself reads none."""
        file = project.file
        table = self.desk.below.file(file.data or file.train)
        words = ["schema", str(table), "--json", LOOKED]
        words += [word for text in file.missing for word in ("--missing", text)]
        words += ["--schema", str(project.schema)] if project.schema else []
        asked = Asked(
            kind="look", title=f"Look at {file.data or file.train}", commands=(tuple(words),),
            makes=(LOOKED,), light=True, about={"table": file.data or file.train},
        )  # fmt: skip
        return self.desk.jobs.ask(new_folder(project.folder), asked)

    def columns(self, request: Request, error: str = "") -> Response:
        """Show every column, as it was read."""
        project = self.desk.project(request)
        if not (project.file.data or project.file.train):
            return go_to("p", project.name, "data")
        job = last_look(self.desk, project)
        seen = looked(self.desk, project)
        declared = project.declared
        said = {name: entry.type for name, entry in declared.columns.items()}
        form = form_of(request) if error else {}
        sent = dict(zip(form.get("name", ()), form.get("kind", ()), strict=False))
        return self.desk.page(
            request, "columns.html.j2", error=error, project=project, job=job, seen=seen, kinds=KINDS,
            said={**said, **sent}, drop=form.get("drop", declared.drop),
            person=verbatim(form, "person") if form else declared.person or "",
        )  # fmt: skip

    def correct_columns(self, request: Request) -> Response:
        """Write the file of column types, and look again."""
        project, form = self.desk.project(request), form_of(request)
        try:
            asked = corrected(form, looked(self.desk, project), project.declared)
            if asked or project.schema is not None:
                project.declare(asked)
        except (TabveilError, ValueError) as fault:
            return self.columns(request, error=str(fault))
        self._look(project)
        return go_to("p", project.name, "columns")

    def look_again(self, request: Request) -> Response:
        """Read the table again."""
        project = self.desk.project(request)
        try:
            self._look(project)
        except TabveilError as fault:
            return self.columns(request, error=str(fault))
        return go_to("p", project.name, "columns")

    def split(self, request: Request, error: str = "") -> Response:
        """Ask which rows are held back."""
        project = self.desk.project(request)
        form = form_of(request) if error else {}
        return self.desk.page(
            request, "split.html.j2", error=error, project=project, file=project.file, form=form,
            columns=column_names(self.desk, project), person=project.declared.person,
            rows=Rows.of(project, self.desk.jobs),
        )  # fmt: skip

    def hold_back(self, request: Request) -> Response:
        """Hold back rows."""
        project, form = self.desk.project(request), form_of(request)
        try:
            name = project.file.data
            if not name:
                raise ParameterError("data", "choose one table to hold rows back from.")
            data = self.desk.below.file(name)
            share = values.read("split", "control", one(form, "control"), float)
            if not 0 < share < 1:
                raise ParameterError("control", "must be a share between 0 and 1, such as 0.3.")
            seed = values.read("split", "seed", one(form, "seed") or "0", int)
            by = verbatim(form, "by")
            folder = new_folder(project.folder)
            ending = ending_of_parts(data)
            words = [
                "split",
                "--data",
                str(data),
                "--out",
                ".",
                "--control",
                f"{share:g}",
                "--seed",
                str(seed),
            ]
            words += ["--by", by] if by else []
            parts = {part: f"{part}{ending}" for part in ("train", "control")}
            asked = Asked(
                kind="split", title=f"Hold back {share:.0%} of {name}", commands=(tuple(words),),
                makes=tuple(parts.values()), about={"data": name, **parts},
            )  # fmt: skip
            job = self.desk.jobs.ask(folder, asked)
        except TabveilError as fault:
            return self.split(request, error=str(fault))
        return go_to("p", project.name, "runs", job.name)


def corrected(form: Form, seen: Mapping[str, Any] | None, earlier: declare.SchemaFile) -> dict[str, Any]:
    """Return the types of columns as a form corrects them; what was right is not said."""
    if seen is None:
        raise TabveilError("the table was not read yet; wait until it is.")
    found = {column["name"]: column["kind"] for column in seen["columns"]}
    said = dict(zip(form.get("name", ()), form.get("kind", ()), strict=True))
    if said.keys() - found.keys():
        raise TabveilError("the table has other columns by now; look at it again.")
    columns: dict[str, Any] = {}
    for name, kind in said.items():
        before = earlier.columns.get(name)
        if before is not None and before.type == kind:
            columns[name] = before.model_dump(mode="json", exclude_defaults=True)
        elif kind != found[name]:
            columns[name] = {"type": kind}
    kept: dict[str, Any] = earlier.model_dump(mode="json", exclude_defaults=True, exclude={"columns"})
    kept |= {"drop": list(form.get("drop", ())), "person": verbatim(form, "person") or None}
    return {key: value for key, value in {**kept, "columns": columns}.items() if value}


def last_look(desk: Desk, project: Project) -> Run | None:
    """Return the last job that looked at the table of a project."""
    file = project.file
    table = file.data or file.train
    jobs = (job for job in desk.jobs.of(project.folder) if job.asked.kind == "look")
    return next((job for job in jobs if job.asked.about.get("table") == table), None)


def looked(desk: Desk, project: Project) -> Mapping[str, Any] | None:
    """Return what is known of the columns; None while nobody looked."""
    file = project.file
    table = file.data or file.train
    for job in desk.jobs.of(project.folder):
        if job.asked.kind == "look" and job.asked.about.get("table") == table and job.state == "done":
            try:
                found = read_json(job.folder / LOOKED)
            except (OSError, Unreadable):
                return None
            found["columns"] = found["columns"][:MOST_COLUMNS]
            return dict(found)
    return None


def column_names(desk: Desk, project: Project) -> list[str]:
    """Return the names of the columns, as far as they are known."""
    found = looked(desk, project)
    return [] if found is None else [column["name"] for column in found["columns"]]
