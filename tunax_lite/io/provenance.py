"""Origin of results: configuration, code, machine and input files."""

import dataclasses

from .. import __version__


@dataclasses.dataclass(frozen=True)
class Provenance:
    """Origin of a file, written as global attributes."""

    version: str = __version__  # of the package
    config: str = ""  # text of the configuration
    case: str = ""  # name of the case, or of its file
    parameters: str = ""  # parameters of the closure, as JSON
    command: str = ""  # the command line
    closure: str = ""  # settings of the closure other than parameters, as JSON
    restart: str = ""  # file and frame from which the run was restarted; empty for a run from the start
    date: str = ""  # of the start, in UTC
    commit: str = ""  # of the code, where it is a checkout
    machine: str = ""  # processors, devices and system
    packages: str = ""  # versions of Python and of numerical packages, as JSON
    data: str = ""  # size and time of change of the files that the configuration names, as JSON

    @property
    def attributes(self) -> dict[str, str]:
        """Global attributes of a file."""
        return {f"tunax_lite_{name}": text for name, text in vars(self).items()}


def read_provenance(path) -> Provenance:
    """Origin recorded in a file of `write_trajectory`; empty if there is none."""
    import netCDF4  # takes long

    with netCDF4.Dataset(path) as file:
        names = [field.name for field in dataclasses.fields(Provenance)]
        return Provenance(**{name: str(getattr(file, f"tunax_lite_{name}", "")) for name in names})
