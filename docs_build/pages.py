"""Everything in the site that is made from the program, so that it cannot go stale."""

import ast
import inspect
import pkgutil
import re
import textwrap
from pathlib import Path

import metric_pages
from markdown_text import plain, table
from which_metric import known_against, which_metric

from tabveil.auditing.audit import audit
from tabveil.auditing.options import OPTIONS
from tabveil.auditing.policy import WHY_THE_DEFAULT, Policy
from tabveil.metrics.registry import METRICS
from tabveil.metrics.utility import DOWNSTREAM, FIDELITY, MEANINGS, RULES, Meaning
from tabveil.synthesis.generators.hybrid import TRANSITIONS
from tabveil.synthesis.generators.hybrid.promises import SampledPrivacy
from tabveil.synthesis.risks import MODIFIERS, RISKS
from tabveil.workflows.synthesizing import GENERATORS, summary

ROOT = Path(__file__).resolve().parents[1]


def generated() -> dict[str, str]:
    """Return the text of every page that has no file in docs/, by its place in the site."""
    return {
        **{f"examples/{path.stem}.md": example(path) for path in sorted((ROOT / "examples").glob("*.py"))},
        "examples/peers/README.md": (ROOT / "examples" / "peers" / "README.md").read_text(encoding="utf-8"),
        **{
            f"benchmarks/{name}": _benchmark(name)
            for name in ("README.md", "peers.md", "scale.md", "growth.md", "generators.md", "epsilon.md")
        },
    }


def navigation() -> list[dict[str, list[str]]]:
    """Return the metrics' pages as entries of the navigation, attacks first."""
    listed: dict[str, list[str]] = {}
    for name, metric in METRICS.items():
        listed.setdefault(_PILLARS[metric.labels.pillar], []).append(f"metrics/{name}.md")
    return [{title: places} for title, places in listed.items()]


_PILLARS = {"attack": "Attacks", "indicator": "Indicators", "property": "Properties"}


def insertions() -> dict[str, str]:
    """Return what written pages ask for between ``<!-- made: policy fields -->`` and ``<!-- end -->``."""
    return {
        "audit options": audit_options(),
        "taxonomy": metric_pages.taxonomy(),
        "which metric": which_metric(),
        "known against": known_against(),
        "utility figures": utility_figures(),
        "policy fields": policy_fields(),
        "why the default": plain(WHY_THE_DEFAULT),
        "generators": generators(),
        "risk models": risk_models(),
        "modifiers": modifiers(),
        "transitions": transitions(),
        "sampled privacy": sampled_privacy(),
        "rooms": rooms(),
        "evidence": evidence(),
    }


def audit_options() -> str:
    """Return a table of what an audit can be asked for, options that are told of together in one row."""
    rows: list[tuple[list[str], str]] = []
    for name, parameter in inspect.signature(audit).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            told = _TOLD.get(name)
            rows += [([], told)] if told else []
            rows[-1][0].append(f"`{name}`")
    return table(["parameter", "meaning"], [[", ".join(names), told] for names, told in rows])


_TOLD = {option.name or field: option.told for field, option in OPTIONS.items()}


def utility_figures() -> str:
    """Return a section for every figure of utility."""
    figures = [_figure(name, meaning) for name, meaning in MEANINGS.items()]
    return "\n\n".join(
        [_figure("fidelity", FIDELITY), *figures, _figure("targets", DOWNSTREAM), _figure("rules", RULES)]
    )


def _figure(name: str, meaning: Meaning) -> str:
    worst = "no fixed end" if meaning.worst is None else f"{meaning.worst:g}"
    where = "each column, and overall as the mean" if meaning.per_column else "the whole table"
    rows = [
        ["given for", "each target" if meaning is DOWNSTREAM else where],
        ["best, worst", f"{meaning.best:g}, {worst}"],
        ["definition", plain(meaning.definition)],
        ["interval", plain(meaning.interval)],
        ["source", plain(meaning.source)],
    ]
    figure = table(["in the JSON", f"`{name}`"], rows)
    return f"## {plain(meaning.title)}\n\n**{plain(meaning.question)}**\n\n{figure}"


def generators() -> str:
    """Return every generator with what it does, in its own words."""
    rows = [[f"`{name}`", plain(summary(generator))] for name, generator in GENERATORS.items()]
    return table(["generator", "what it does"], rows)


def risk_models() -> str:
    """Return every risk model with what it does, in its own words."""
    rows = [[f"`{name}`", plain(summary(model))] for name, model in RISKS.items()]
    return table(["risk model", "what it does"], rows)


def modifiers() -> str:
    """Return every modifier with what it changes, in its own words."""
    rows = [[f"`{name}`", plain(summary(modifier))] for name, modifier in MODIFIERS.items()]
    return table(["modifier", "what it does"], rows)


def transitions() -> str:
    """Return every transition with what it does, in its own words."""
    rows = [[f"`{name}`", plain(summary(transition))] for name, transition in TRANSITIONS.items()]
    return table(["transition", "what it does"], rows)


def sampled_privacy() -> str:
    """Return what sampling and classes of a size promise together, for some sizes and chances."""
    rows = [
        [f"k = {k}", *(_promised(SampledPrivacy.of(beta, k)) for beta in _BETAS)] for k in (5, 10, 20, 50)
    ]
    return table(["", *(f"β = {beta:g}" for beta in _BETAS)], rows)


_BETAS = (0.1, 0.2, 0.5)


def _promised(found: SampledPrivacy | None) -> str:
    return "nothing" if found is None else f"ε = {found.epsilon:.2f}, δ = {found.delta:.0e}"


def rooms() -> str:
    """Return what stands in each room of the source, from the top down."""
    return "\n".join(["```text", *(line for room in reversed(ROOMS) for line in _room(room)), "```"])


ROOMS = ("core", "tables", "engines", "synthesis", "metrics", "auditing", "workflows", "render", "web", "cli")


def _room(name: str) -> list[str]:
    found = sorted(module.name for module in pkgutil.iter_modules([str(ROOT / "src" / "tabveil" / name)]))
    told = " ".join(module for module in found if not module.endswith("kernels"))
    head = f"{ROOMS.index(name) + 1}  {name:<11}"
    return textwrap.wrap(told, width=96, initial_indent=head, subsequent_indent=" " * len(head))


def evidence() -> str:
    """Return in a few lines what studies found, in the numbers of their pages."""
    wrong = _numbers("verdicts", r"called \*above\*: (\d+) of (\d+)\. .*\*within\*: (\d+) of (\d+)\.")
    escaped = _numbers("red_team", r"; (\d+) of (\d+) draws\. Called \*within\* [^:]*: (\d+) of \d+ draws\.")
    claims = _numbers(
        "claims", r"Of (\d+) claims: (\d+) \*holds\*, (\d+) \*holds in part\*, (\d+) \*does not"
    )
    return f"""\
- **Verdicts.** Called *within*: {wrong[2]} of {wrong[3]} leaky releases. Called *above*: {wrong[0]} of \
{wrong[1]} clean ones ([how often verdicts are wrong](verdicts.md)).
- **Leaks of many kinds**, made to escape: {escaped[0]} of {escaped[1]} were caught, {escaped[2]} called \
*within* ([which escape](red_team.md)).
- **Papers**: of {claims[0]} claims in those that it stands on, {claims[1]} hold by our measurements, \
{claims[2]} in part, and {claims[3]} do not ([claim by claim](claims.md))."""


def _numbers(page: str, pattern: str) -> tuple[str, ...]:
    found = re.search(pattern, (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"docs/{page}.md no longer says what docs/index.md tells of it: {pattern}")
    return found.groups()


def policy_fields() -> str:
    """Return the fields of a policy file with their defaults."""
    rows = []
    for name, value in Policy().to_json().items():
        inner = value if isinstance(value, dict) else {"": value}
        for key, default in inner.items():
            shown = ", ".join(default) if isinstance(default, list) else default
            field = f"{name}.{key}" if key else name
            rows.append(
                [f"`{field}`", f"`{shown}`" if shown not in ("", None) else "not stated", _MEANS[name]]
            )
    return table(["field", "default", "meaning"], rows)


_MEANS = {
    "purpose": "what the release is for; printed on the part to sign, as are the next eight",
    "release_model": "`public`, `controlled` or `internal`: to whom the release goes",
    "sensitivity": "`low`, `medium` or `high`: how much a disclosure would harm people",
    "generator": "what made the release",
    "generator_version": "which version of it",
    "earlier_releases": "other releases made from the same people",
    "review_date": "when this is looked at again, such as 2027-03-01",
    "responsible": "who answers for the release",
    "second_signatory": "who signs beside them",
    "frameworks": "whose expectations the [legal part](#frameworks) goes through",
    "intruder": "who may try to find people, what they can, which sources were tried (for `ico`)",
    "recipient": "who will hold the release; printed in the report",
    "context": "under which conditions, such as a contract or a public download; printed in the report",
    "confidence": "how sure the intervals are: more makes them wider, and the verdict stricter",
    "thresholds": "the largest share of people that may be exposed because their data were trained on",
    "copies": "the largest share of the release that may be copies of training rows, beyond chance",
    "required": "attacks that must have answered before a release can be called within threshold",
}


def example(path: Path) -> str:
    """Return a page that shows a script and what it says about itself."""
    source = path.read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(source)) or ""
    title, _, rest = about.partition("\n")
    code = source[source.index('"""', 3) + 3 :].strip()
    return f"# {title.rstrip('.')}\n\n{_code_blocks(rest.strip())}\n\n```py\n{code}\n```\n"


def _code_blocks(text: str) -> str:
    """Turn the indented commands of a docstring into blocks."""
    return text.replace("::\n", ":\n").replace("``", "`")


def _benchmark(name: str) -> str:
    return (ROOT / "benchmarks" / name).read_text(encoding="utf-8")
