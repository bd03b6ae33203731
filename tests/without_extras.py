"""Commands as they run where pip brought no extra."""

import importlib.metadata
import sys

from typer.testing import CliRunner
from xarray.backends import list_engines

from tunax_lite.cli.commands import app
from tunax_lite.runtime import machine


class Absent:
    """Finds none of the optional packages, as in an installation without extras."""

    # xarray remembers that Dask is installed, and imports it.
    names = {name for packages in machine.EXTRAS.values() for name in packages} - {"dask"}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in cls.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def commands_without_extras(monkeypatch):
    """A function that runs a command where pip brought no extra."""
    list_engines()  # looks for packages once per process, where nothing hides them
    for name in [name for name in sys.modules if name.partition(".")[0] in Absent.names]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent, *sys.meta_path])

    def missing(package):
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr("importlib.metadata.version", missing)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])
