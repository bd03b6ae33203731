"""The command line.

Exit codes: 0 success; 1 the computation failed, for example with a value that is not finite; 2 invalid usage,
configuration or parameters; 3 a data file that is missing or cannot be used; 130 and 143 ended by Ctrl-C and
SIGTERM.
"""

import gc
import signal

from ..runtime import interrupts


def main() -> None:
    """Entry point of the `tunax-lite` command."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, interrupts.raise_interrupted)  # as Ctrl-C: removes temporary files
    gc.disable()  # until JAX is set up; otherwise collections take a quarter of the time of a short run
    from .commands import app
    from .terminal import prepare_terminal

    prepare_terminal()
    app(prog_name="tunax-lite")
