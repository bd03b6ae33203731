"""Transform numbers with valid ranges into numbers without bounds, for an optimiser, and back.

The transform is that of `Bounded`; with an infinite bound it is exponential. Whatever x an optimiser
proposes, the number stays in its range. Near a bound, x is the logarithm of the distance from it, so that a
step of the optimiser changes a small number by a factor.
"""

from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar

import equinox as eqx
import jax

from .._types import (
    FieldValue,
    Fixed,
    check_range,
    chosen_paths,
    dotted,
    free_leaves,
    unfixed,
)
from ..views import AbstractShown
from .priors import bounded, unbounded

T = TypeVar("T", bound=eqx.Module)


class Unconstrained(AbstractShown, Generic[T]):
    """Numbers without bounds in place of those of a module; `constrained` returns the module.

    Args:
        numbers: the module with x in place of each free number; its fields are attributes of this one, too.
    """

    remedy: ClassVar[str] = "pass tl.constrained(x), the module with these numbers"
    numbers: T

    def __getattr__(self, name: str) -> FieldValue:
        # Methods are not passed on: they would use x instead of the physical numbers.
        if name == "numbers" or name not in self.numbers.__dataclass_fields__:
            raise AttributeError(f"'{name}' is no field of unconstrained numbers; {self.remedy}.")
        return getattr(self.numbers, name)


def unconstrained(module: T, only: Iterable[str] | None = None) -> Unconstrained[T]:
    """Replace each free number of a module by an unconstrained number x; `constrained` reverses it.

    The leaves are the free numbers alone: differentiate a loss with respect to it, and hand it to optax,
    optimistix or `jax.flatten_util.ravel_pytree`. A number on a bound of its range stays there, because its
    gradient vanishes. Arrays that no field declares, such as the weights of a network, have no bounds.

    Args:
        module: a closure, model, case or any module with fields declared with `parameter`.
        only: dotted paths of what is free, `c_eps_1`, and `stability.*` or `net.*` for all beneath; by
            default every number.

    Raises:
        TypeError: unconstrained numbers.
        ValueError: a number outside its valid range, or a path without a number.
    """
    if isinstance(module, Unconstrained):
        raise TypeError(f"unconstrained: expected a module, got unconstrained numbers; {module.remedy}.")
    infos = free_leaves(module)
    for info in infos.values():
        check_range(info.path, info.value, info.valid_range)
    free = infos.keys() if only is None else chosen_paths(infos, only, "unconstrained", type(module).__name__)

    def free_or_fixed(path, leaf):
        name = dotted(path)
        return unbounded(leaf, *infos[name].valid_range) if name in free else Fixed(leaf)

    return Unconstrained(jax.tree_util.tree_map_with_path(free_or_fixed, module))


def constrained(x: Unconstrained[T]) -> T:
    """Return the module with numbers in their valid ranges, from `unconstrained`; `TypeError` for others."""
    if not isinstance(x, Unconstrained):
        kind = type(x).__name__
        raise TypeError(f"constrained: expected the result of tl.unconstrained, got {kind}; use it as it is.")
    infos = free_leaves(x.numbers)

    def restored(path, leaf):
        return leaf if isinstance(leaf, Fixed) else bounded(leaf, *infos[dotted(path)].valid_range)

    return unfixed(
        jax.tree_util.tree_map_with_path(restored, x.numbers, is_leaf=lambda leaf: isinstance(leaf, Fixed))
    )
