"""What an output file says about its origin."""

import dataclasses
from dataclasses import dataclass

from .. import __version__


def read_provenance(path) -> "Provenance":
    """What a file of `write_trajectory` says about its origin; empty where it says nothing."""
    import netCDF4  # takes long

    with netCDF4.Dataset(path) as file:
        known = {field.name: f"tunax_lite_{field.name}" for field in dataclasses.fields(Provenance)}
        return Provenance(
            **{name: str(file.getncattr(own)) for name, own in known.items() if own in file.ncattrs()}
        )


@dataclass(frozen=True)
class Provenance:
    """Where a file comes from; all of it becomes global attributes.

    Args:
        version: of the package.
        config: text of the configuration.
        case: name of the case, or of its file.
        parameters: of the closure, as JSON.
        command: the command line.
        closure: what it is made of besides its parameters, as JSON.
        restart: the file and the frame that the run goes on from; empty for one from the start.
    """

    version: str = __version__
    config: str = ""
    case: str = ""
    parameters: str = ""
    command: str = ""
    closure: str = ""
    restart: str = ""
