"""A command of the command line in this process."""

from collections.abc import Mapping

from typer.testing import CliRunner, Result

from tunax_lite.cli.commands import app


def invoked(*arguments: object, code: int = 0, env: Mapping[str, str] | None = None) -> Result:
    """The result of a command, which must end with this exit code."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)
    assert result.exit_code == code, result.output
    return result
