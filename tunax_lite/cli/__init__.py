"""The command line: parse, call, report.

Exit codes: 0 done; 1 the computation failed, for example a value that is not finite; 2 usage,
configuration or parameters that cannot be used; 3 a data file that is missing or cannot be used; 129, 130
and 143 ended by SIGHUP, Ctrl-C and SIGTERM.
"""

import gc
import sys

from .. import interrupts
from .limits import check_limits


def main() -> None:
    """Entry point of the `tunax-lite` command."""
    interrupts.install()  # before what takes long to import
    check_limits()
    gc.disable()  # what is imported is no garbage, and searching it for some takes a tenth of the time
    try:
        from .commands import start
    except ValueError as error:  # JAX reads its variables while it is imported
        sys.stderr.write(
            f"tunax-lite: error: {error}; correct the variable of the environment or unset it.\n"
        )
        raise SystemExit(2) from None
    gc.enable()
    start()
