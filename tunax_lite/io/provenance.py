"""What an output file says about its origin."""

from dataclasses import dataclass

from .. import __version__


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

    version: str = __version__
    config: str = ""
    case: str = ""
    parameters: str = ""
    command: str = ""
