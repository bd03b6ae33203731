"""Derivatives of k-epsilon on the four large-eddy simulations: reverse = forward = central differences.

**Loss.** Mean squares of temperature (against the start), velocity and the logarithms of k and epsilon
(against constants) over frames and levels: smooth in what the model computes. Every number that enters is a
*direction*: all parameters of `KEpsilon`, the molecular coefficients, the forcing, the Coriolis parameter,
the thermal expansion, and random profiles added to the initial state.

**Length.** 2880 steps (48 h) start from the case at rest; 2 and 500 steps go on from the run after 24 h,
because few steps from rest do not depend on most parameters (free convection is quiescent for hours).

**Kinks.** The loss is smooth only as long as none of the closure's switches flips in any cell at any step.
`RecordingKEpsilon` records them; bisection finds, for every direction, the largest interval [-h, h] times
the scale of the direction, h = 2^-2 ... 2^-22, at both ends of which all switches are as in the middle.
The difference is extrapolated to fourth order from that interval, half and a quarter of it. Intervals
over 2880 steps are typically 1e-6 to 1e-4 of the parameter.

**Round-off.** With T = 20 degC and S = 35 g/kg rounding moves the loss by 2e-11 of its value, with both
counted from zero by less than 2e-13 (2880 steps); the equation of state is linear, so nothing else
changes. A difference is known to that over 2 h. Where this is more than 1e-6 of the derivative, the check
is repeated at other values of all numbers (up to 3 % away), until an interval is wide enough. A derivative
that even h = 1/16 cannot resolve (|g| < 1.6e-6 of the loss for 2880 steps, 1.6e-8 for 2) must agree within
the round-off instead.
"""

import dataclasses
import itertools
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers import LES_CASES, get_leaf
from tests.verification.recording import RecordingKEpsilon, RecordingState
from tunax_lite import (
    Case,
    ConstantForcing,
    KEpsilon,
    Model,
    Restart,
    SaveSteps,
    State,
    SurfaceFluxes,
    simulate,
)
from tunax_lite._types import iterate_parameters
from tunax_lite.column.integrate import batched_case, integrate, start_of
from tunax_lite.io import read_lesbrary

DT = 60.0
FRAMES = {2: (2, 1), 500: (10, 50), 2880: (48, 60)}  # frames, steps per frame
TOLERANCE = 1e-6  # relative, of central differences
ROUND_OFF = {2: 2e-15, 500: 5e-14, 2880: 2e-13}  # of the loss, relative, by number of steps
STEPS = 2.0 ** -np.arange(2, 23)  # h, relative to the scale of a direction
MOST_BASES = 8

FORCING = ("stress_u", "stress_v", "heat_flux", "freshwater_flux")
INITIAL = ("temperature", "salinity", "u", "v")
# What a relative change is relative to, where the value itself is zero or not the right measure.
SCALES = {
    "c_eps_3_minus": 1.0,
    "closure.c_eps_4": 1.0,
    "closure.stability.cc5": 1.0,
    "closure.stability.ct4": 1.0,
    "coriolis_parameter": 1e-4,
    "forcing.stress_u": 0.1,
    "forcing.stress_v": 0.1,
    "forcing.heat_flux": 100.0,
    "forcing.freshwater_flux": 1e-4,
    **{f"initial.{name}": 1e-2 for name in INITIAL},
}
PROFILES = {name: np.random.default_rng(i).standard_normal(64) for i, name in enumerate(INITIAL)}


class Setup(NamedTuple):
    """What does not vary: the case, and the frame to start from if that is not the start of the case."""

    case: Case
    start: Restart | None


def read_case(path):
    case, _ = read_lesbrary(path)
    temperature = case.initial_state.temperature
    from_zero = (temperature - temperature[-1], jnp.zeros_like(temperature))
    case = dataclasses.replace(case, name="case")  # one name, one compiled program
    return eqx.tree_at(lambda c: (c.initial_state.temperature, c.initial_state.salinity), case, from_zero)


def inputs_of(case) -> dict[str, float]:
    """Value of every direction: a parameter, a flux, or the amplitude of a profile."""
    model = Model(KEpsilon())
    inputs = {info.path: info.value for info in iterate_parameters(model)}
    inputs = {path: float(value) for path, value in inputs.items() if value is not None}
    for name in FORCING:
        flux = getattr(case.forcing.fluxes, name)
        inputs[f"forcing.{name}"] = 0.0 if flux is None else float(flux)
    inputs |= {f"initial.{name}": 0.0 for name in INITIAL}
    inputs["c_eps_3_minus"] = 0.0  # added to what the steady-state Richardson number implies
    inputs["coriolis_parameter"] = float(case.coriolis_parameter)
    inputs["thermal_expansion"] = float(case.equation_of_state.thermal_expansion)
    return inputs


def scales_of(inputs) -> np.ndarray:
    return np.array([SCALES.get(name) or abs(value) for name, value in inputs.items()])


def perturb(state: State, inputs) -> State:
    """Add the profiles to a state, with one amplitude per column."""
    batch_shape = jnp.shape(inputs["coriolis_parameter"])
    state = state.broadcast(batch_shape)

    def add(name):
        profile = jnp.asarray(PROFILES[name]).reshape((-1,) + (1,) * len(batch_shape))
        return getattr(state, name) + profile * inputs[f"initial.{name}"]

    return State(u=add("u"), v=add("v"), temperature=add("temperature"), salinity=add("salinity"))


def build(inputs, setup: Setup, record: bool):
    """Model, case and start for given inputs, numbers or one number per column."""
    model = Model(KEpsilon())
    paths = [info.path for info in iterate_parameters(model) if info.value is not None]
    model = eqx.tree_at(
        lambda m: [get_leaf(m, path) for path in paths], model, [inputs[path] for path in paths]
    )
    closure = model.closure
    closure = dataclasses.replace(closure, c_eps_3_minus=closure.c_eps_3_stable + inputs["c_eps_3_minus"])
    model = dataclasses.replace(model, closure=RecordingKEpsilon(closure) if record else closure)
    case = dataclasses.replace(
        setup.case,
        initial_state=perturb(setup.case.initial_state, inputs),
        forcing=ConstantForcing(SurfaceFluxes(**{n: inputs[f"forcing.{n}"] for n in FORCING})),
        coriolis_parameter=inputs["coriolis_parameter"],
        equation_of_state=dataclasses.replace(
            setup.case.equation_of_state, thermal_expansion=inputs["thermal_expansion"]
        ),
    )
    case = batched_case(model, case)
    if setup.start is None:
        return model, case, start_of(model, case)
    batch_shape = jnp.shape(inputs["coriolis_parameter"])
    turbulence = jax.tree.map(
        lambda x: jnp.broadcast_to(x.reshape(x.shape + (1,) * len(batch_shape)), x.shape + batch_shape),
        setup.start.clo_state,
    )
    if record:
        checksum = jnp.zeros(batch_shape, jnp.uint64)
        turbulence = RecordingState.of(turbulence, checksum)
    return model, case, Restart(perturb(setup.start.state, inputs), turbulence, setup.start.step)


def loss_of(inputs, setup: Setup, frames, record=False):
    """Loss per column, and with `record` the checksum of all switches."""
    model, case, start = build(inputs, setup, record)

    def save(restart):
        clo_state = restart.clo_state
        turbulence = clo_state.turbulence if record else clo_state
        return (
            restart.state,
            turbulence.turbulent_kinetic_energy[1:-1],
            turbulence.dissipation_rate[1:-1],
            clo_state.checksum if record else (),
        )

    _, (state, tke, dissipation, checksum) = integrate(
        model,
        case,
        start,
        DT,
        n_frames=frames[0],
        steps_per_frame=frames[1],
        checkpointing=SaveSteps(),
        save=lambda carry, _: save(carry.now),
    )
    mean = partial(jnp.mean, axis=(0, 1))
    warming = state.temperature - setup.case.initial_state.temperature.reshape(
        (-1,) + (1,) * (state.temperature.ndim - 2)
    )
    loss = mean(warming**2) / 1e-4 + mean((state.u - 0.01) ** 2 + (state.v + 0.01) ** 2) / 1e-2
    loss = loss + 1e-2 * mean(jnp.log(tke / 1e-9) ** 2 + jnp.log(dissipation / 1e-11) ** 2)
    return (loss, checksum[-1]) if record else loss


class Derivatives:
    """The three kinds of derivatives for one number of steps, each one compiled program."""

    def __init__(self, n_steps):
        self.round_off = ROUND_OFF[n_steps]
        loss = partial(loss_of, frames=FRAMES[n_steps])
        self._reverse = jax.jit(jax.value_and_grad(loss))
        self._recorded = jax.jit(partial(loss, record=True))

        def forward(inputs, tangents, setup):
            return jax.jvp(lambda inputs: loss(inputs, setup), (inputs,), (tangents,))[1]

        self._forward = jax.jit(forward)

    def reverse(self, inputs, setup):
        """Loss and its derivative to each input."""
        value, gradient = self._reverse(jax.tree.map(jnp.asarray, inputs), setup)
        return float(value), np.array([float(gradient[name]) for name in inputs])

    def forward(self, inputs, setup):
        """Derivative to each input: one column per input, with a tangent of its own."""
        n = len(inputs)
        columns = {name: jnp.full(n, value) for name, value in inputs.items()}
        tangents = {name: jnp.asarray(np.eye(n)[i]) for i, name in enumerate(inputs)}
        return np.asarray(self._forward(columns, tangents, setup))

    def _changed(self, inputs, changes, setup):
        """Loss with each input changed by itself up and down, and whether all switches stay."""
        n = len(inputs)
        columns = {}
        for i, (name, value) in enumerate(inputs.items()):
            column = np.full(2 * n + 1, value)
            column[[i, n + i]] += changes[i], -changes[i]
            columns[name] = jnp.asarray(column)
        loss, checksum = (np.asarray(x) for x in self._recorded(columns, setup))
        same = checksum == checksum[-1]
        return loss[:n], loss[n : 2 * n], same[:n] & same[n : 2 * n]

    def central(self, inputs, scales, most, setup):
        """Central differences over the largest smooth interval of at most a given half-width.

        Returns the difference, extrapolated; how far its last two extrapolations are apart; the smallest
        half-width used, relative to the scale; and whether all intervals were smooth.
        """
        # STEPS[wide] is smooth and STEPS[kink] is not, as far as known; the wider one is the smaller index.
        wide, kink = np.full(len(inputs), len(STEPS) - 3), np.searchsorted(-STEPS, -most) - 1
        while np.any(wide - kink > 1):
            middle = (wide + kink + 1) // 2
            _, _, smooth = self._changed(inputs, STEPS[middle] * scales, setup)
            wide, kink = np.where(smooth, middle, wide), np.where(smooth, kink, middle)
            kink = np.minimum(kink, wide - 1)
        differences, all_smooth = [], np.full(len(inputs), True)
        for step in (STEPS[wide], STEPS[wide + 1], STEPS[wide + 2]):
            up, down, smooth = self._changed(inputs, step * scales, setup)
            differences.append((up - down) / (2.0 * step * scales))
            all_smooth &= smooth
        first, second = ((4.0 * b - a) / 3.0 for a, b in itertools.pairwise(differences))
        return second, np.abs(second - first), step, all_smooth


def shifted(inputs, base: int):
    """Another point: every number up to 3 % larger or smaller; the first is the default."""
    factor = 1.0 + 3e-2 * np.random.default_rng(base).uniform(-1.0, 1.0, len(inputs)) * (base > 0)
    return {name: value * f for (name, value), f in zip(inputs.items(), factor, strict=True)}


def spin_up(case, hours=24.0):
    run = simulate(Model(KEpsilon()), case, dt=DT, duration=hours * 3600.0, output_interval=3600.0)
    return run.restart()


def check_case(derivatives, name, setup):
    default = inputs_of(setup.case)
    names, scales = np.array(list(default)), scales_of(default)
    verified = np.full(len(names), False)
    for base in range(MOST_BASES):
        inputs = shifted(default, base)
        loss, reverse = derivatives.reverse(inputs, setup)
        forward = derivatives.forward(inputs, setup)
        assert np.all(np.isfinite(reverse)), f"{name}: {names[~np.isfinite(reverse)]}"
        # The two modes do the same arithmetic in another order.
        wrong = np.abs(forward - reverse) * scales > 1e-9 * np.abs(reverse) * scales + 1e-14 * loss
        assert not wrong.any(), f"{name}: reverse and forward differ for {names[wrong]}"

        # No wider than it takes to see a tenth of the tolerance above round-off: the truncation error
        # grows with the fourth power of the width.
        resolved = np.abs(reverse) * scales * TOLERANCE / (derivatives.round_off * loss) + 1e-300
        most = np.clip(10.0 / resolved / 4.0 ** (base % 3), STEPS[-4], STEPS[0])
        central, spread, step, smooth = derivatives.central(inputs, scales, most, setup)
        error = np.abs(central - reverse) * scales
        known_to = derivatives.round_off * loss / (2.0 * step)
        tolerance = TOLERANCE * np.abs(reverse) * scales
        wrong = smooth & (error > tolerance + known_to + spread * scales)
        assert not wrong.any(), (
            f"{name}: reverse {reverse[wrong]} and central {central[wrong]} differ for {names[wrong]}"
        )
        too_small = 2.0 * STEPS[2] * resolved < 1.0
        verified |= smooth & ((error <= tolerance) | too_small)
        if verified.all():
            return
    raise AssertionError(f"{name}: no smooth interval was wide enough for {names[~verified]}")


@pytest.mark.slow
@pytest.mark.long  # in small cases: the contract of the closures; over a year: test_papa_gradient
@pytest.mark.parametrize("n_steps", [2, 500, 2880])
def test_reverse_forward_and_central_differences_agree(n_steps, lesbrary_path):
    derivatives = Derivatives(n_steps)
    for name in LES_CASES:
        case = read_case(lesbrary_path(name))
        start = None if n_steps == 2880 else spin_up(case)
        check_case(derivatives, name, Setup(case, start))
