"""The application: options before a command, and the wrapper around every command.

Neither this module nor `commands` imports JAX: help, completion and version do not need it.
"""

import contextlib
import functools
import gc
import importlib
import inspect
import json
import math
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args

import typer
from typer import Exit, Option
from typer.core import TyperCommand, TyperGroup

from .terminal import echo

Group = Literal["Core", "Calibration", "Data and sites", "Extensions"]


class _GroupedHelp(TyperGroup):
    """Help with commands below the title of their group; typer needs rich for this, a slow import."""

    def format_commands(self, ctx, formatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, each in self.commands.items():
            assert isinstance(each, TyperCommand) and isinstance(each.rich_help_panel, str)
            groups.setdefault(each.rich_help_panel, []).append((name, each.get_short_help_str(200)))
        for group, rows in sorted(groups.items(), key=lambda item: get_args(Group).index(item[0])):
            with formatter.section(group):
                formatter.write_dl(rows)


app = typer.Typer(
    name="tunax-lite",
    cls=_GroupedHelp,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A differentiable one-dimensional model of the ocean water column.",
    epilog="Exit codes: 0 done, 1 computation failed, 2 bad usage, configuration or parameters, "
    "3 bad or missing data file, 130 Ctrl-C, 143 SIGTERM.",
)


def _print_version(requested: bool) -> bool:
    if requested:
        from .. import __version__

        echo(f"tunax_lite {__version__}")
        raise Exit
    return requested


@app.callback()
def _options(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options before a command."""


_Debug = Annotated[bool, Option("--debug", help="Show the traceback of an error.")]
_Json = Annotated[
    bool, Option("--json", help="Print one JSON object on standard output, and all text on standard error.")
]
Answer = dict[str, Any]  # JSON
"""Result of a command for `--json`; the exit code is 1 if its list `problems` is not empty."""


def command(
    group: Group = "Extensions", when_interrupted: str = "", *, name: str | None = None, module: str = ""
) -> Callable[[Callable[..., Answer | None]], None]:
    """Add a command to the application; the decorated function declares its arguments and options.

    The command sets up JAX, turns errors into messages and exit codes, and has the option `--debug`. If the
    function is annotated to return an `Answer`, it also has `--json`.

    Args:
        group: heading in the help of the application.
        when_interrupted: advice after Ctrl-C or SIGTERM.
        name: name of the command, if it cannot be that of the function.
        module: name of a module next to that of the decorated function, imported when the command runs; its
            function of the same name does the work. By default the decorated function does.
    """

    def add(function: Callable[..., Answer | None]) -> None:
        signature = inspect.signature(function)
        flags: dict[str, Any] = {"as_json": _Json} if signature.return_annotation == Answer else {}
        flags["debug"] = _Debug

        @functools.wraps(function)
        def run_command(*, debug: bool = False, as_json: bool = False, **options: Any) -> None:
            session = _import_session()
            with session.errors_as_messages(debug, when_interrupted):
                session.set_up_jax()
                gc.enable()  # only now that `configure` has exempted what was imported
                if options.get("resume") and options.get("overwrite"):
                    raise session.ConfigError(
                        "expected either --resume or --overwrite, got both; choose one."
                    )
                with (
                    contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext(),
                    session.notes_shown() as notes,
                ):
                    answer = _implementation(function, module)(**options) or {}
                if as_json:
                    answer |= {"notes": [*map(str, notes), *answer.get("notes", [])]}
                    echo(json.dumps(of_json(answer), indent=2))
                if answer.get("problems"):
                    raise Exit(session.FAILED)

        kind = inspect.Parameter.KEYWORD_ONLY
        added = [inspect.Parameter(flag, kind, default=False, annotation=flags[flag]) for flag in flags]
        parameters = [*signature.parameters.values(), *added]
        run_command.__signature__ = signature.replace(parameters=parameters)  # type: ignore
        run_command.__annotations__ = {each.name: each.annotation for each in parameters}
        run_command.__doc__ = inspect.cleandoc(function.__doc__ or "")
        app.command(name, rich_help_panel=group)(run_command)

    return add


def _implementation(function: Callable[..., Answer | None], module: str) -> Callable[..., Answer | None]:
    if not module:
        return function
    package = function.__module__.rpartition(".")[0]
    return getattr(importlib.import_module(f"{package}.{module}"), function.__name__)


def of_json(value: Any) -> Any:  # JSON
    """Replace numbers that are not finite by null: JSON has no such numbers."""
    if isinstance(value, dict):
        return {name: of_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [of_json(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _import_session():
    """Import JAX and the module `session`."""
    try:
        import jax  # noqa: F401
    except ValueError as error:  # JAX reads its environment variables when it is imported
        echo(f"tunax-lite: error: {error}; correct or unset this environment variable.", err=True)
        raise Exit(2) from None
    from . import session

    return session
