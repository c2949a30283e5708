"""The command line reference, read off the program itself so that it cannot go stale."""

from typing import Any

import typer.main
from markdown_text import plain, rich_text, table

from tabveil.cli import app

EXAMPLE = "tabveil "


def commands() -> dict[str, Any]:
    """Return every command that is not hidden, by its name; one of a group by both names."""
    return _commands(typer.main.get_command(app))


def _commands(group: Any, before: str = "") -> dict[str, Any]:  # noqa: ANN401 - the parser's group
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= _commands(command, f"{before}{name} ")
        elif not command.hidden:
            found[f"{before}{name}"] = command
    return found


def page() -> str:
    """Return the whole reference."""
    parts = [
        "# Command line",
        "This page is made from what `tabveil COMMAND --help` prints.",
        *(_section(name, command) for name, command in commands().items()),
    ]
    return "\n\n".join(parts) + "\n"


def _section(name: str, command: Any) -> str:  # noqa: ANN401 - the parser's command
    arguments = "".join(f" {item.metavar}" for item in command.params if item.param_type_name == "argument")
    shown = [item for item in command.params if not getattr(item, "hidden", False)]
    parts = [
        f"## tabveil {name}",
        f"```console\n$ tabveil {name}{arguments} [OPTIONS]\n```",
        rich_text(command.help or ""),
        table(["option", "meaning", "if left out"], [_option(item) for item in shown]) if shown else "",
    ]
    told = examples(command)
    if told:
        lines = "\n".join(f"$ {line}" for line in told)
        parts += [f"For example:\n\n```console\n{lines}\n```"]
    return "\n\n".join(part for part in parts if part)


def examples(command: Any) -> list[str]:  # noqa: ANN401 - the parser's command
    """Return the command lines at the end of a command's help."""
    lines = (line.replace("[cyan]", "").replace("[/]", "") for line in (command.epilog or "").splitlines())
    return [line for line in lines if line.startswith(EXAMPLE)]


def _option(item: Any) -> list[str]:  # noqa: ANN401 - the parser's option
    names = [item.metavar] if item.param_type_name == "argument" else [*item.opts, *item.secondary_opts]
    value = f" {item.metavar}" if item.metavar and item.param_type_name == "option" else ""
    return [", ".join(f"`{name}{value}`" for name in names), plain(item.help or ""), _default(item)]


def _default(item: Any) -> str:  # noqa: ANN401 - the parser's option
    if item.required:
        return "required"
    if isinstance(item.default, bool):
        named = item.opts if item.default else item.secondary_opts
        return f"`{named[0]}`" if item.secondary_opts else "off"
    return "" if item.default in (None, [], ()) else f"`{item.default}`"
