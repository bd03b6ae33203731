"""Tables of pages that are made of what is declared and measured, so that a page reads well as it is stored.

A table stands between two comments, `<!-- parameters kpp -->` and `<!-- end -->`. `python docs/generated.py`
writes them all, with `--check` only lists the pages that are out of date, as a test does.

    parameters NAME     parameters and settings of a name of configurations
    names               all names of configurations, by family; on the site with the tables of each
    public              all public names of the package, with their pages
    measured NAME       a table of the benchmarks, from benchmarks/baseline.json
    commands            what each command does
    options             arguments and options of each command, from its declaration
"""

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

import interface
from typer.models import ArgumentInfo

from tunax_lite._docstrings import docstring_of
from tunax_lite.cli.commands import app
from tunax_lite.cli.options import Engine
from tunax_lite.closures import AbstractClosure
from tunax_lite.config.reference import describe, families
from tunax_lite.declarations import summary_and_source

DOCS = Path(__file__).parent
TABLE = re.compile(
    r"(<!-- (parameters|names|public|measured|commands|options) ?([\w ]*) -->\n).*?(<!-- end -->)", re.DOTALL
)


def _parameters(name: str, only: type | None = None) -> str:
    """What a name declares itself, the closure of several; its parts have names of their own."""
    named = [each for each in describe(name) if only is None or each.kind is only]
    each = max(named, key=lambda each: issubclass(each.kind, AbstractClosure))
    rows = [row for row in each.declared if "." not in row.path]
    lines = ["| name | default | unit | range | meaning |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        cells = (f"`{row.path}`", row.default, row.unit, row.range, row.meaning.replace("|", "\\|"))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if rows else ""


def _names(_: str) -> str:
    lines = []
    for title, names in families().items():
        lines += [f"## {title}", "", "| name | meaning |", "| --- | --- |"]
        for each in names:
            (said,) = [said for said in describe(each.name) if said.kind is each.kind]
            lines.append(f"| `{each.name}` | {said.summary.replace('|', chr(92) + '|')} |")
        lines.append("")
    return "\n".join(lines[:-1])


def _public(_: str) -> str:
    lines = ["| name | page | what |", "| --- | --- | --- |"]
    for (package, name), page in sorted(interface.pages().items()):
        value = getattr(importlib.import_module(package), name)
        text = summary_and_source(value)[0] if isinstance(value, type) else docstring_of(value)
        said = _cell(text.split("\n\n")[0]) if callable(value) else ""
        lines.append(f"| `{package}.{name}` | [{page}]({page}.md) | {said} |")
    return "\n".join(lines)


def with_settings(text: str) -> str:
    """The page of all names as the site has it: with the parameters and settings of each."""
    lines = []
    for title, names in families().items():
        lines.append(f"## {title}\n")
        for each in names:
            (said,) = [said for said in describe(each.name) if said.kind is each.kind]
            source = f" Source: {said.source}" if said.source else ""
            table = _parameters(each.name, each.kind)
            lines.append(f"### `{each.name}`\n\n{said.summary}{source}\n\n{table}\n")
    return TABLE.sub(lambda _: "\n".join(lines), text)


def _measured(name: str) -> str:
    sys.path.append(str(DOCS.parent))
    from benchmarks import report

    return report.sections(report.read_report(report.BASELINE))[name][1]


class _Parameter(NamedTuple):
    """An argument or option of a command, as it is declared."""

    name: str
    typed: str
    meaning: str


def _parameters_of(function: Callable[..., Any]) -> list[_Parameter]:
    return [
        _parameter(name, each.annotation, each.default)
        for name, each in inspect.signature(function).parameters.items()
    ]


def _parameter(name: str, annotation: Any, default: Any) -> _Parameter:
    kind, info = get_args(annotation)[:2]
    kinds = [each for each in get_args(kind) or (kind,) if each is not type(None)]
    choices = [choice for each in kinds if get_origin(each) is Literal for choice in get_args(each)]
    values = choices or [each.__name__.upper() for each in kinds if isinstance(each, type)]
    value, text = info.metavar or "|".join(values), info.help or ""
    if isinstance(info, ArgumentInfo):
        typed = info.metavar or name.upper()
        if default is not inspect.Parameter.empty and not typed.startswith("["):
            typed = f"[{typed}]"
    else:
        first = [info.default] if isinstance(info.default, str) else []  # where typer leaves the first name
        names = [*first, *(info.param_decls or ())] or [f"--{name.replace('_', '-')}"]
        typed = ", ".join(names) + ("" if kind is bool else f" {value}")
    if isinstance(default, str | float | Path) and default and "default" not in text:
        text = f"{text.rstrip('.')}; by default {default}."
    return _Parameter(name, f"`{_cell(typed)}`", _cell(text))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _functions() -> dict[str, Callable[..., Any]]:
    """Functions of the commands by name, with all their options."""
    functions = (command.callback for command in app.registered_commands)
    names = (command.name for command in app.registered_commands)
    return {
        name or function.__name__.replace("_", "-"): function
        for name, function in zip(names, functions, strict=True)
        if function is not None
    }


def _commands(_: str) -> str:
    lines = ["| command | what it does |", "| --- | --- |"]
    for name, function in _functions().items():
        sentence = _cell((inspect.getdoc(function) or "").split("\n\n")[0])
        lines.append(f"| [`{name}`](#tunax-lite-{name}) | {sentence} |")
    return "\n".join(lines)


SHARED = (*Engine._fields, "settings", "as_json", "debug")
"""Options that are the same for every command that has them."""


def _options(_: str) -> str:
    declared = {name: _parameters_of(function) for name, function in _functions().items()}
    before = app.registered_callback
    assert before is not None and before.callback is not None
    lines = ["### Before the command", "", *_rows(_parameters_of(before.callback)), ""]
    lines += ["### Of several commands", "", "| option | commands | meaning |", "| --- | --- | --- |"]
    for each in (one for one in declared["compare"] if one.name in SHARED):
        names = [name for name, others in declared.items() if each.name in {other.name for other in others}]
        said = "all" if len(names) == len(declared) else ", ".join(f"`{name}`" for name in names)
        lines.append(f"| {each.typed} | {said} | {each.meaning} |")
    lines += ["| `--help` | all | Show the options of a command. |", ""]
    for name, parameters in declared.items():
        own = [each for each in parameters if each.name not in SHARED]
        lines += [f"### tunax-lite {name}", "", *_rows(own), ""]
    return "\n".join(lines[:-1])


def _rows(parameters: Sequence[_Parameter]) -> list[str]:
    rows = [f"| {each.typed} | {each.meaning} |" for each in parameters]
    return ["| argument, option | meaning |", "| --- | --- |", *rows]


MAKERS = {
    "parameters": _parameters,
    "names": _names,
    "public": _public,
    "measured": _measured,
    "commands": _commands,
    "options": _options,
}


def filled(text: str) -> str:
    """A page with its tables as they are declared and measured now."""
    return TABLE.sub(lambda found: f"{found[1]}\n{MAKERS[found[2]](found[3])}\n\n{found[4]}", text)


def pages() -> list[Path]:
    """Pages that have such tables."""
    return [path for path in sorted(DOCS.rglob("*.md")) if TABLE.search(path.read_text(encoding="utf-8"))]


def main(check: bool) -> int:
    old = 0
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            old += 1
            if not check:
                path.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{path} {'is out of date' if check else 'is written'}\n")
    return old if check else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
