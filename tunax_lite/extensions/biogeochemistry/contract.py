"""What a biogeochemical model must hold, so that pools stay positive and what it holds is conserved.

`check_model` is the test of every model of the package, and of your models.
"""

import itertools
from collections.abc import Collection

import jax
import jax.numpy as jnp
import numpy as np

from .interface import AbstractBiogeochemicalModel, Environment, Exchanges, Pools
from .term import Biogeochemistry, checked

_N = 3
"""Cells."""


def check_model(model: AbstractBiogeochemicalModel, *, used_up: Collection[str] = ()) -> None:
    """Reject a model whose exchanges do not fit its declarations, at some pools, in light and in the dark.

    Exchanges are between its pools and links, at least zero in every cell; a loss vanishes with its pool,
    unless that may be negative; both ends hold the same content; derivatives by all numbers and pools are
    finite, also without life and light; velocities are those of its pools, attenuation is at least zero.

    Args:
        model: to check.
        used_up: pools that lose matter however little is left, such as oxygen that others use, or nitrogen of
            animals that excrete while they eat; what they do not gain at the same time makes them negative in
            explicit schemes.

    Raises:
        TypeError, ValueError: what was expected of which method, and what it gave.
    """
    Biogeochemistry({"mine": model}).contents()
    positive = {pool.name for pool in model.pools() if pool.positive and not pool.on_bottom} - {*used_up}
    for light, scale in itertools.product((0.0, 50.0), (0.0, 1.0)):
        pools, around = sample_pools(model, scale), sample_environment(light)
        where = f"{type(model).__name__} in light of {light:g} W m-2, pools {'filled' if scale else 'empty'}"
        rates = _exchanges(model, "rates", pools, around)
        exchanges_by_method: list[tuple[str, tuple[int, ...], Exchanges]] = [("rates", (_N,), rates)]
        for method, at in (("through_surface", -1), ("through_bottom", 0)) if scale else ():
            at_end = {name: of if of.ndim == 0 else of[at] for name, of in pools.items()}
            exchanges_by_method.append((method, (), _exchanges(model, method, at_end, around.cell(at))))
        for method, shape, exchanges in exchanges_by_method:
            for pair, rate in exchanges.items():
                if np.shape(rate) not in ((), shape) or not np.all(np.asarray(rate) >= 0.0):
                    expected = f"{method} {pair} of at least 0, {'in cells' if shape else 'one number'}"
                    raise ValueError(f"{where}: expected {expected}, got {rate}.")
        _check_derivatives(model, pools, around, where)
        for name in positive:
            without = _exchanges(model, "rates", {**pools, name: 0.0 * pools[name]}, around)
            if left := [pair for pair, of in without.items() if pair[0] == name and np.any(np.asarray(of))]:
                raise ValueError(f"{where}: expected no loss of {name} where there is none, got {left}.")
        for name, of in checked(model, "velocities", model.velocities(pools, around)).items():
            if np.shape(of) not in ((), (_N,)):
                raise ValueError(f"{where}: expected the velocity of {name} in cells, got {np.shape(of)}.")
        attenuation = model.attenuation(pools)
        if attenuation is not None and not np.all(np.asarray(attenuation) >= 0.0):
            raise ValueError(f"{where}: expected attenuation of at least 0, got {attenuation}.")
        if missing := model.measurable().keys() - model.diagnostics(pools, around).keys():
            raise ValueError(f"{where}: expected diagnostics {', '.join(sorted(missing))}, got none.")
        _check_contents(model, rates)


def _check_derivatives(model: AbstractBiogeochemicalModel, pools: Pools, around: Environment, where: str):
    for pair in _exchanges(model, "rates", pools, around):

        def rate(model: AbstractBiogeochemicalModel, pools: Pools, pair=pair):
            return _exchanges(model, "rates", pools, around)[pair]

        slopes = jax.jacfwd(rate, argnums=(0, 1))(model, pools)
        for path, slope in jax.tree_util.tree_leaves_with_path(slopes):
            if not np.all(np.isfinite(slope)):
                by = jax.tree_util.keystr(path[1:], simple=True, separator=".")
                raise ValueError(f"{where}: expected a finite derivative of rate {pair} by {by}; guard it.")


def _check_contents(model: AbstractBiogeochemicalModel, exchanges: Exchanges) -> None:
    for what, amounts in model.contents().items():
        for source, target in exchanges:
            held = [amounts.get(name or "") for name in (source, target)]
            if held[0] is not None and target is not None and held[0] != held[1]:
                got = f"contents of {held[0]} and {held[1]}; make it two exchanges with the outside, None"
                expected = f"the {what} that {source} loses in {target}"
                raise ValueError(f"{type(model).__name__}: expected {expected}, got {got}.")


def _exchanges(
    model: AbstractBiogeochemicalModel, method: str, pools: Pools, around: Environment
) -> Exchanges:
    return checked(model, method, getattr(model, method)(pools, around))


def sample_pools(model: AbstractBiogeochemicalModel, scale: float = 1.0) -> dict[str, jax.Array]:
    """Of all pools, around their values at the start, and of links: profiles; one number on the bottom."""
    profile, empty = jnp.linspace(0.6, 1.2, _N), jnp.zeros(_N)
    pools = {pool.name: empty + scale * profile * (pool.initial or 0.5) for pool in model.pools()}
    on_bottom = {pool.name: pools[pool.name][0] for pool in model.pools() if pool.on_bottom}
    return pools | on_bottom | {name: scale * profile for name in model.links()}


def sample_environment(light: float) -> Environment:
    """Of the cells, in light at the surface [W m-2] that falls towards the bottom."""
    below = jnp.linspace(0.1, 1.0, _N)
    return Environment(
        temperature=jnp.linspace(7.0, 12.0, _N),
        salinity=jnp.linspace(35.0, 34.5, _N),
        density=jnp.linspace(1027.2, 1026.5, _N),
        depth=jnp.linspace(25.0, 5.0, _N),
        thickness=jnp.full(_N, 10.0),
        light=light * below,
        surface_light=jnp.asarray(1.5 * light),
        shortwave=jnp.asarray(3.0 * light),
        wind_speed=jnp.asarray(8.0),
        bottom_stress=jnp.asarray(0.02),
        time=0.0,
    )
