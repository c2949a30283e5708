"""``tabveil policy``: a release policy to edit."""

from typing import Annotated

import typer

from tabveil.cli.files import write_or_show
from tabveil.cli.options import Force, Shown, option
from tabveil.errors import ParameterError


def policy(
    *,
    template: Annotated[
        str | None,
        option("public|controlled|internal", "For this model of release: thresholds with their sources."),
    ] = None,
    sensitivity: Annotated[
        str | None,
        option("low|medium|high", "Thresholds of 0.09, 0.075 or 0.05; high if left out."),
    ] = None,
    out: Shown = None,
    force: Force = False,
) -> None:
    """Write a policy."""
    from tabveil.auditing import policy as policies
    from tabveil.auditing import policy_file
    from tabveil.core import check

    if template is not None:
        check.one_of("policy", "--template", template, tuple(policies.RELEASE_MODELS))
    if sensitivity is not None:
        check.one_of("policy", "--sensitivity", sensitivity, policies.SENSITIVITIES)
        if template is None:
            raise ParameterError("--sensitivity", "goes with --template: name one of its models, too.")
    write_or_show(policy_file.template(template, sensitivity), out, force=force)  # type: ignore[arg-type] # see above


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Write a release policy to edit: accepted risks, confidence, recipient, who signs, required "
        "metrics. [bold]--template[/] takes the thresholds that agencies use, says what they mean there and "
        "what they mean here, and lists what must be filled in.",
        epilog="Examples:\n\n[cyan]tabveil policy --out policy.yaml[/]\n\n"
        "[cyan]tabveil policy --template public --sensitivity medium --out policy.yaml[/]\n\n"
        "[cyan]tabveil audit --policy policy.yaml --train t.csv --control c.csv --synthetic s.csv[/]",
    )(policy)
