"""A command of the command line in this process."""

from typer.testing import CliRunner, Result

from tunax_lite.cli.commands import app


def invoked(*arguments: object, code: int = 0) -> Result:
    """The result of a command, which must end with this exit code."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result
