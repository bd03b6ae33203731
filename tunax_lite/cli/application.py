"""The application: options before a command, the wrapper around every command, and limits of the process.

Neither this module nor `commands` imports JAX: help, completion and version do not need it.
"""

import contextlib
import functools
import gc
import importlib
import inspect
import json
import math
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import typer
from typer import Exit, Option
from typer.core import TyperCommand, TyperGroup

from .._docstrings import docstring_of
from ..runtime.machine import n_processors
from .options import Engine
from .terminal import echo

Group = Literal["Core", "Calibration", "Data and sites", "Extensions"]


class _InGroups(TyperGroup):
    """Commands below the title of their group; typer needs rich for this, which takes long to import."""

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
    cls=_InGroups,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A differentiable one-dimensional model of the ocean water column.",
    epilog="Exit codes: 0 done, 1 computation failed, 2 bad usage, configuration or parameters, "
    "3 bad or missing data file, 130 Ctrl-C, 143 SIGTERM.",
)


class Before(NamedTuple):
    """The options before a command."""

    cache_folder: Path | None = None
    cache_seconds: float | None = None
    no_cache: bool = False
    no_limits: bool = False


_before = Before()


def _print_version(wanted: bool) -> bool:
    if wanted:
        from .. import __version__

        echo(f"tunax_lite {__version__}")
        raise Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
    cache_folder: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Folder for compiled programs; by default $JAX_COMPILATION_CACHE_DIR, or the user's cache.",
        ),
    ] = None,
    cache_seconds: Annotated[
        float | None,
        Option(
            metavar="S",
            min=0.0,
            help="Do not cache programs that compile in less; by default "
            "$JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS, or 0.",
        ),
    ] = None,
    no_cache: Annotated[
        bool, Option("--no-cache", help="Neither write nor read the cache of compiled programs.")
    ] = False,
    no_limits: Annotated[
        bool,
        Option(
            "--no-limits",
            help="Allow runs of more than 1e9 time steps, or larger than the free memory or disk space.",
        ),
    ] = False,
) -> None:
    global _before
    _before = Before(cache_folder, cache_seconds, no_cache, no_limits)


_Debug = Annotated[bool, Option("--debug", help="Show the traceback of an error.")]
_Json = Annotated[
    bool, Option("--json", help="Print one JSON object on standard output, and all text on standard error.")
]
Answer = dict[str, Any]  # what JSON holds
"""What a command finds, for scripts; `problems` in it, if there are any, make its exit code 1."""


def command(
    group: Group = "Extensions", when_interrupted: str = "", *, name: str | None = None, module: str = ""
) -> Callable[[Callable[..., Answer | None]], None]:
    """Add a command to the application, with JAX set up before it, errors as messages, and `--debug`.

    The decorated function declares arguments and options; one that is annotated to return an `Answer` also
    gets `--json`.

    Args:
        group: in the help of the application.
        when_interrupted: advice after Ctrl-C or SIGTERM.
        name: of the command, if the function cannot have it.
        module: beside that of the function, imported when the command runs; its function of the same name,
            with the same parameters, then does the work.
    """

    def add(function: Callable[..., Answer | None]) -> None:
        signature = inspect.signature(function)
        parameters = signature.parameters
        on_engine, answers = "engine" in parameters, signature.return_annotation == Answer

        @functools.wraps(function)
        def whole(*, debug: bool = False, as_json: bool = False, **options: Any) -> None:  # of the command
            if on_engine:
                options["engine"] = Engine(*(options.pop(name) for name in Engine._fields))
            session = _import_session()
            with session.errors_as_messages(debug, when_interrupted):
                _ignore_settings_here()
                session.set_up_jax(*_before)
                with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
                    answer = _work_of(function, module)(**options) or {}
                if as_json:
                    echo(json.dumps(of_json(answer), indent=2))
                if answer.get("problems"):
                    raise Exit(session.FAILED)

        own = {name: (one.default, one.annotation) for name, one in parameters.items() if name != "engine"}
        if on_engine:
            own |= {name: (None, Engine.__annotations__[name]) for name in Engine._fields}
        own |= {"as_json": (False, _Json)} if answers else {}
        own["debug"] = False, _Debug
        kind = inspect.Parameter.KEYWORD_ONLY
        whole.__signature__ = inspect.Signature(  # type: ignore
            [inspect.Parameter(name, kind, default=a, annotation=b) for name, (a, b) in own.items()]
        )
        whole.__annotations__ = {name: annotation for name, (_, annotation) in own.items()}
        whole.__doc__ = docstring_of(function)
        app.command(name, rich_help_panel=group)(whole)

    return add


def _work_of(function: Callable[..., Answer | None], module: str) -> Callable[..., Answer | None]:
    if not module:
        return function
    package = function.__module__.rpartition(".")[0]
    return getattr(importlib.import_module(f"{package}.{module}"), function.__name__)


def of_json(value: Any) -> Any:  # JSON
    """Replace numbers that are not finite by null: JSON has no such numbers."""
    if isinstance(value, dict):
        return {name: of_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [of_json(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _ignore_settings_here() -> None:
    """Import matplotlib from another folder if this one has a `matplotlibrc`, which anyone may have left."""
    if os.path.lexists("matplotlibrc"):
        with contextlib.chdir(Path(__file__).parent):
            import matplotlib  # noqa: F401


def _import_session():
    """Import what commands share, including JAX, if the limits of the process allow JAX to start."""
    check_limits()
    try:
        import jax  # noqa: F401
    except ValueError as error:  # JAX reads its environment variables when it is imported, we do not
        echo(f"tunax-lite: error: {error}; correct or unset this environment variable.", err=True)
        raise Exit(2) from None
    from . import session

    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return session


_ADDRESS_SPACE = 1_900_000_000  # bytes; `run` and `calibrate` reach 1.8e9 with two processors
_THREADS = 16, 4  # in total, and per processor; 21 were observed with two processors


def check_limits() -> None:
    """End the process with a message if JAX could not start, which would otherwise abort."""
    processors = n_processors()
    problem = _address_space(processors) or _threads(_THREADS[0] + _THREADS[1] * processors)
    if problem:
        sys.exit(f"tunax-lite: error: {problem}")


def _address_space(processors: int) -> str:
    try:
        import resource
    except ImportError:  # not on Windows, which has no such limit
        return ""
    stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
    needed = _ADDRESS_SPACE + (0 if stack == resource.RLIM_INFINITY else 2 * processors * stack)
    for name, option in (("RLIMIT_AS", "-v"), ("RLIMIT_DATA", "-d")):
        allowed = resource.getrlimit(getattr(resource, name))[0]
        fraction = 1.0 if option == "-v" else 0.5  # programs and libraries do not count as data
        if allowed != resource.RLIM_INFINITY and allowed < fraction * needed:
            return (
                f"expected {fraction * needed / 1e6:.0f} MB of memory at least, got a limit of "
                f"{allowed / 1e6:.0f} MB (ulimit {option}); raise it, or that of the job."
            )
    return ""


def _threads(needed: int) -> str:
    """A problem if so many threads cannot run at the same time, found by starting them."""
    end, started = threading.Event(), []
    try:
        for _ in range(needed):
            thread = threading.Thread(target=end.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        return (
            f"expected {needed} threads that can be started, got {len(started)}; raise the limit of "
            "processes (ulimit -u, or that of the job or container), or end others of yours."
        )
    finally:
        end.set()
        for thread in started:
            thread.join()
    return ""
