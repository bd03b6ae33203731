"""The command line.

Exit codes: 0 success; 1 the computation failed, for example with a value that is not finite; 2 invalid usage,
configuration or parameters; 3 a data file that is missing or cannot be used; 129, 130 and 143 ended by
SIGHUP, Ctrl-C and SIGTERM.
"""

import gc

from ..runtime import interrupts


def main() -> None:
    """Entry point of the `tunax-lite` command."""
    interrupts.install()  # before slow imports
    gc.disable()  # imported objects are no garbage: collecting while importing takes a quarter of a short run
    from .commands import app
    from .terminal import prepare_terminal

    prepare_terminal()
    app(prog_name="tunax-lite")
