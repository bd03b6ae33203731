"""Test that a biogeochemical model keeps its pools positive and conserves its contents."""

import itertools
from collections.abc import Collection

import jax
import jax.numpy as jnp
import numpy as np

from tests.extensions.biogeochemistry.columns import environment
from tunax_lite.extensions.biogeochemistry import AbstractBiogeochemicalModel, Biogeochemistry, Exchanges
from tunax_lite.extensions.biogeochemistry.interface import Environment, Pools
from tunax_lite.extensions.biogeochemistry.term import checked

_N = 3
"""Number of cells in the tests."""


def check_model(model: AbstractBiogeochemicalModel, *, used_up: Collection[str] = ()) -> None:
    """Reject a model whose methods contradict its declarations, for sample pools, in light and in the dark.

    Exchanges connect its pools and links and are at least zero. Exchanges in the water take nothing from an
    empty pool that cannot be negative, connect equal contents, and have finite derivatives by all numbers
    and pools, also at zero. Only its pools have velocities, attenuation is at least zero, and all
    `measurable` diagnostics exist.

    Args:
        model: model to check.
        used_up: pools that may lose matter while empty, such as oxygen that other pools consume, or nitrogen
            of animals that excrete while they eat; explicit schemes make them negative unless their gains
            balance the loss.

    Raises:
        TypeError, ValueError: a method returns something else than expected.
    """
    # Rejects names in `contents` that are not pools.
    Biogeochemistry({"mine": model}).contents()
    positive = {pool.name for pool in model.pools() if pool.positive and not pool.on_bottom} - {*used_up}
    for light, scale in itertools.product((0.0, 50.0), (0.0, 1.0)):
        pools, around = (
            sample_pools(model, scale),
            environment(
                light=light * jnp.linspace(0.1, 1.0, _N),
                surface_light=jnp.asarray(1.5 * light),
                shortwave=jnp.asarray(3.0 * light),
            ),
        )
        where = f"{type(model).__name__} in light of {light:g} W m-2, pools {'filled' if scale else 'empty'}"
        rates = _exchanges(model, "rates", pools, around)
        all_exchanges: list[tuple[str, tuple[int, ...], Exchanges]] = [("rates", (_N,), rates)]
        for method, cell in (("through_surface", -1), ("through_bottom", 0)) if scale else ():
            in_cell = {name: pool if pool.ndim == 0 else pool[cell] for name, pool in pools.items()}
            all_exchanges.append((method, (), _exchanges(model, method, in_cell, around.cell(cell))))
        for method, shape, exchanges in all_exchanges:
            for pair, rate in exchanges.items():
                if np.shape(rate) not in ((), shape) or not np.all(np.asarray(rate) >= 0.0):
                    expected = f"{method} {pair} of at least 0, {'in cells' if shape else 'one number'}"
                    raise ValueError(f"{where}: expected {expected}, got {rate}.")
        _check_slopes(model, pools, around, where)
        for name in positive:
            empty = _exchanges(model, "rates", {**pools, name: 0.0 * pools[name]}, around)
            if lost := [pair for pair, rate in empty.items() if pair[0] == name and np.any(np.asarray(rate))]:
                raise ValueError(f"{where}: expected no loss of {name} while it is zero, got {lost}.")
        for name, speed in checked(model, "velocities", model.velocities(pools, around)).items():
            if np.shape(speed) not in ((), (_N,)):
                raise ValueError(f"{where}: expected the velocity of {name} in cells, got {np.shape(speed)}.")
        attenuation = model.attenuation(pools)
        if attenuation is not None and not np.all(np.asarray(attenuation) >= 0.0):
            raise ValueError(f"{where}: expected attenuation of at least 0, got {attenuation}.")
        if missing := model.measurable().keys() - model.diagnostics(pools, around).keys():
            raise ValueError(f"{where}: expected diagnostics {', '.join(sorted(missing))}, got none.")
        _check_contents(model, rates)


def _check_slopes(model: AbstractBiogeochemicalModel, pools: Pools, environment: Environment, where: str):
    for pair in _exchanges(model, "rates", pools, environment):

        def rate(model: AbstractBiogeochemicalModel, pools: Pools, pair=pair):
            return _exchanges(model, "rates", pools, environment)[pair]

        slopes = jax.jacfwd(rate, argnums=(0, 1))(model, pools)
        for path, slope in jax.tree_util.tree_leaves_with_path(slopes):
            if not np.all(np.isfinite(slope)):
                by = jax.tree_util.keystr(path[1:], simple=True, separator=".")
                raise ValueError(f"{where}: expected a finite derivative of rate {pair} by {by}; guard it.")


def _check_contents(model: AbstractBiogeochemicalModel, exchanges: Exchanges) -> None:
    for element, amounts in model.contents().items():
        for source, target in exchanges:
            lost, gained = (amounts.get(name or "") for name in (source, target))
            if lost is not None and target is not None and lost != gained:
                got = f"contents of {lost} and {gained}; make it two exchanges with the outside, None"
                expected = f"the {element} that {source} loses in {target}"
                raise ValueError(f"{type(model).__name__}: expected {expected}, got {got}.")


def _exchanges(
    model: AbstractBiogeochemicalModel, method: str, pools: Pools, environment: Environment
) -> Exchanges:
    return checked(model, method, getattr(model, method)(pools, environment))


def sample_pools(model: AbstractBiogeochemicalModel, scale: float = 1.0) -> dict[str, jax.Array]:
    """Profiles of all pools near their initial values, and of links; one number for pools on the bottom."""
    profile, empty = jnp.linspace(0.6, 1.2, _N), jnp.zeros(_N)
    pools = {pool.name: empty + scale * profile * (pool.initial or 0.5) for pool in model.pools()}
    on_bottom = {pool.name: pools[pool.name][0] for pool in model.pools() if pool.on_bottom}
    return pools | on_bottom | {name: scale * profile for name in model.links()}
