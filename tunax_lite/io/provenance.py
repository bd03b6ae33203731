"""What an output file says about its origin."""

import dataclasses
import importlib.metadata
from dataclasses import dataclass


def _installed_version() -> str:
    return importlib.metadata.version("tunax_lite")


@dataclass(frozen=True)
class Provenance:
    """Where a file comes from; all of it becomes global attributes.

    Args:
        version: of the package.
        config: text of the configuration.
        case: name of the case, or of its file.
        parameters: of the closure, as JSON.
        command: the command line.
    """

    version: str = dataclasses.field(default_factory=_installed_version)
    config: str = ""
    case: str = ""
    parameters: str = ""
    command: str = ""
