"""Programs of the tests of parts are compiled without optimisation: most run once, for microseconds.

The optimised programs that a user runs are those of the contract, of the verification and of the notebooks.
"""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True, scope="package")
def _compile_quickly() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # of processes that a test starts
        jax.config.update("jax_disable_most_optimizations", True)
        jax.clear_caches()  # of what was compiled with optimisation while the tests were collected
        yield
    jax.config.update("jax_disable_most_optimizations", False)
    jax.clear_caches()
