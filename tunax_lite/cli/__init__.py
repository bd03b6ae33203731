"""The command line: parse, call, report.

Exit codes: 0 done; 1 the computation failed, for example a value that is not finite; 2 usage,
configuration or parameters that cannot be used; 3 a data file that is missing or cannot be used; 129, 130
and 143 ended by SIGHUP, Ctrl-C and SIGTERM.
"""

import gc

from .. import interrupts


def main() -> None:
    """Entry point of the `tunax-lite` command."""
    interrupts.install()  # before what takes long to import
    gc.disable()  # what is imported is no garbage: searching it for some takes a quarter of a short run
    from .application import prepare_terminal
    from .commands import app

    prepare_terminal()
    app(prog_name="tunax-lite")
