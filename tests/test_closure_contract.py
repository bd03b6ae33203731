"""What every closure must do in every case: `ALL_CLOSURES` times `CASES` of `helpers.py`."""

from functools import cached_property, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tests.helpers import (
    ALL_CLOSURES,
    CASES,
    CLOSURE_IDS,
    DEPTH,
    N_CELLS,
    N_POINTS,
    ROUNDING,
    SAME,
    VARIANTS,
    central_difference,
    column,
    get_leaf,
    some_long,
    stack_columns,
    with_leaf,
)
from tunax_lite import Grid, Model, SaveSteps, first_non_finite, simulate, stack_cases
from tunax_lite._types import iterate_parameters, iterate_vectors
from tunax_lite.closures import AbstractClosure, AbstractStepper, CloState, ClosureInputs, RiBased
from tunax_lite.column.integrate import batched_case, integrate, start_of

DT = 60.0
RUN = 120 * DT
N_STEPS = (2, 500)  # over which derivatives are compared
COMPARED = (2, 120)  # steps after which a batch is compared with single columns

every_case = pytest.mark.parametrize("name", CASES)
# Compiling is what takes time. Runs, and the differences between them, are of the programs that users run,
# optimised; derivatives are of programs without optimisation, which compile in half the time. That both are
# the same: the differences, and `test_optimised_program_equals_one_without_optimisation`.
NOT_OPTIMISED = {"xla_backend_optimization_level": 0}


class Counter:
    """A number that may change in a static field: equal to itself only."""

    count = 0


class Counting(AbstractClosure[CloState]):
    """Passes everything on and counts how often `step` is traced."""

    closure: AbstractClosure
    traces: Counter = eqx.field(static=True)

    def prepare(self) -> "CountingStepper":
        return CountingStepper(self.closure.prepare(), self.traces)


class CountingStepper(AbstractStepper[CloState]):
    """The steps of a closure, counted."""

    stepper: AbstractStepper
    traces: Counter = eqx.field(static=True)

    def init(self, inputs: ClosureInputs) -> CloState:
        return self.stepper.init(inputs)

    def step(self, clo_state: CloState, inputs: ClosureInputs, dt) -> CloState:
        self.traces.count += 1
        return self.stepper.step(clo_state, inputs, dt)


UNDER_TEST = dict(zip(CLOSURE_IDS, ALL_CLOSURES, strict=True)) | VARIANTS


def under_test(every_change: set[str]) -> list:
    """All closures, of which those not named run in `make test-all`."""
    return some_long(UNDER_TEST, lambda name: name not in every_change)


@pytest.fixture(scope="module", params=UNDER_TEST)
def closure(request):
    """Each closure in turn: all tests of one follow each other, share its programs, and let go of them."""
    return UNDER_TEST[request.param]


@pytest.fixture(scope="module")
def counting(closure):
    return Counting(closure, Counter())


@pytest.fixture(scope="module")
def trajectories(counting):
    """A run of every case with every step saved."""
    run = partial(simulate, Model(counting), dt=DT, duration=RUN, output_interval=DT)
    return {name: run(case) for name, case in CASES.items()}


def batch_of_cases(times: int = 1):
    return stack_cases(list(CASES.values()) * times)


@every_case
def test_shapes_and_finite(trajectories, name):
    run = trajectories[name]
    n_frames = round(RUN / DT) + 1
    assert {leaf.shape for leaf in jax.tree.leaves(run.state)} == {(n_frames, N_CELLS)}
    places = {(n_frames, N_CELLS + 1), (n_frames, N_CELLS), (n_frames,)}  # faces, cells, the column
    assert {leaf.shape for leaf in jax.tree.leaves(run.clo_state)} <= places
    for coefficient in (run.clo_state.eddy_viscosity, run.clo_state.eddy_diffusivity):
        assert coefficient.shape == (n_frames, N_CELLS + 1)
    assert first_non_finite(run) is None
    dtypes = {leaf.dtype for leaf in jax.tree.leaves((run.state, run.clo_state))}
    assert dtypes == {np.dtype(np.float64)}


@every_case
def test_turbulence_is_not_negative(trajectories, name):
    for leaf in jax.tree.leaves(trajectories[name].clo_state):
        assert float(jnp.min(leaf)) >= 0.0


@every_case
def test_nothing_mixes_through_the_ends(trajectories, name):
    run = trajectories[name]
    for coefficient in (run.clo_state.eddy_viscosity, run.clo_state.eddy_diffusivity):
        # The first frame may hold the start value of a closure, which the ends do not use.
        assert np.all(np.asarray(coefficient)[1:, [0, -1]] == 0.0)


@every_case
def test_budgets_close(trajectories, name):
    run, case = trajectories[name], CASES[name]
    fluxes = jax.vmap(case.forcing.at)(run.time[1:])
    eos, thickness = case.equation_of_state, np.asarray(case.grid.cell_thickness)
    density = float(eos.reference_density)

    def flux(name):
        return np.asarray(getattr(fluxes, name))

    def content(values):
        return np.asarray(values) @ thickness

    def check(values, added):
        # Rounding is relative to the content: 120 steps of 16 cells.
        error = content(values)[-1] - content(values)[0] - DT * np.sum(np.asarray(added))
        assert abs(error) <= 1e-13 * np.max(np.abs(np.asarray(values)) @ thickness)

    heat = flux("heat_flux") + flux("shortwave_flux")
    check(run.state.temperature, heat / (density * float(eos.heat_capacity)))
    dilution = -np.asarray(run.state.salinity[:-1, -1]) * flux("freshwater_flux")
    check(run.state.salinity, (dilution + 1e3 * flux("salt_flux")) / density)
    check(run.state.tracers["dye"], fluxes.tracer_fluxes["dye"])

    # Momentum as a complex number: the column turns, then takes up the stress.
    turn = np.exp(-1j * float(case.coriolis_parameter) * DT)
    momentum = content(run.state.u) + 1j * content(run.state.v)
    expected = momentum[0]
    for stress in flux("stress_u") + 1j * flux("stress_v"):
        expected = turn * expected + DT * stress / density
    assert abs(momentum[-1] - expected) <= 1e-12 * np.max(np.abs(momentum))


def test_compiled_equals_interpreted(closure, trajectories):
    """Guards against wrong code from the compiler; the two round differently in the last digits."""
    model = Model(closure)
    case = batched_case(model, batch_of_cases())

    def frame(number):
        runs = [trajectories[name] for name in CASES]
        return stack_columns([jax.tree.map(lambda x: x[number], (run.state, run.clo_state)) for run in runs])

    time, dt = jnp.asarray(DT), jnp.asarray(DT)
    state, clo_state = frame(1)
    with jax.disable_jit():
        interpreted = (case.initial_state, model.init(case)), model.step(state, clo_state, case, time, dt)
    for found, number in zip(interpreted, (0, 2), strict=True):
        for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(frame(number)), strict=True):
            # Relative to the column: where velocity decays downward, every cell adds rounding.
            scale = jnp.max(jnp.abs(theirs), axis=0) if theirs.ndim > 1 else jnp.abs(theirs)
            assert np.all(np.abs(ours - theirs) <= 1e-11 * np.abs(theirs) + 1e-14 * scale)


def assert_single_columns(closure, trajectories, several, frames, rtol=1e-9):
    """Columns of a batch against a loop, to round-off: loops over rows vectorise otherwise."""
    # Entrainment of RiBased is divided by N² at the base of the layer: where that is small, rounding grows.
    rtol = 1e-7 if RiBased in (type(closure), type(getattr(closure, "physical", None))) else rtol
    for i, name in enumerate(CASES):
        single = jax.tree.map(lambda leaf: leaf[np.array(frames)], trajectories[name])
        for ours, theirs in zip(
            jax.tree.leaves((single.state, single.clo_state)),
            jax.tree.leaves(column(several, i)),
            strict=True,
        ):
            scale = float(jnp.max(jnp.abs(ours)))
            np.testing.assert_allclose(theirs, ours, rtol=rtol, atol=0.1 * rtol * scale)


def test_batch_equals_single_columns(closure, many_columns, trajectories):
    """Of the program that differences are taken of: columns of their own cases and parameters."""
    assert_single_columns(closure, trajectories, many_columns.values(many_columns.both)[1], COMPARED)


@pytest.mark.long  # `vmap` of runs is not how columns are batched here; of a simple closure: test_simulation
def test_vmap_equals_single_columns(closure, trajectories):
    run = partial(simulate, Model(closure), dt=DT, duration=RUN, output_interval=RUN)
    mapped = jax.jit(jax.vmap(run, in_axes=-1, out_axes=-1))(stack_columns(list(CASES.values())))
    assert_single_columns(closure, trajectories, (mapped.state, mapped.clo_state), (0, -1))


def test_known_case_inside_a_traced_function(closure):
    """Where only a parameter is traced, the checks of the case must still see its numbers."""
    case, finer = CASES["everything"], Grid.uniform(DEPTH, 2 * N_CELLS)

    def end(viscosity):
        run = simulate(Model(closure, viscosity), case.on(finer), dt=DT, duration=RUN, output_interval=RUN)
        return run.state.u[-1]

    assert jax.eval_shape(end, jnp.asarray(1e-6)).shape == (2 * N_CELLS,)
    with error_naming(ValueError, "0 43200"):
        too_long = 2.0 * case.duration
        jax.eval_shape(lambda nu: simulate(Model(closure, nu), case, duration=too_long), jnp.asarray(1e-6))


def test_new_numbers_do_not_compile_again(closure, counting, trajectories):
    del trajectories  # compiled what all runs share
    first = counting.traces.count
    assert first > 0
    run = partial(simulate, dt=DT, duration=RUN, output_interval=DT)
    for info in [*iterate_parameters(closure), *iterate_vectors(closure)]:
        if info.value is not None:
            run(Model(with_leaf(counting, f"closure.{info.path}", 1.01 * info.value)), CASES["cooling"])
    run(Model(counting, molecular_viscosity=1e-5), CASES["everything"])
    assert counting.traces.count == first


# Derivatives: one program per closure and kind for both numbers of steps, with a column per case and, for
# parameters, one number per column, so that each case has a gradient of its own.


def losses_of(model, case):
    """A smooth number, per number of steps and column, of everything at the end of a run.

    With it state and closure state of the frames that `COMPARED` names.
    """
    case = batched_case(model, case)
    initial = case.initial_state

    def loss(current):
        state, mixing = current.state, current.clo_state
        warming = state.temperature - initial.temperature
        freshening = state.salinity - initial.salinity
        terms = (
            warming**2 + 0.1 * warming,
            freshening**2 + 0.1 * freshening + state.tracers["dye"] ** 2,
            10.0 * ((state.u - 0.01) ** 2 + (state.v - 0.02) ** 2),
            (mixing.eddy_viscosity + 2.0 * mixing.eddy_diffusivity)[1:-1],
        )
        return sum(jnp.mean(term, axis=0) for term in terms), (state, mixing)

    few, many = N_STEPS
    _, (losses, frames) = integrate(
        model,
        case,
        start_of(model, case),
        DT,
        n_frames=many // few,
        steps_per_frame=few,
        checkpointing=SaveSteps(),
        save=lambda carry, _: loss(carry.now),
    )
    at = jnp.asarray(COMPARED) // few - 1
    return jnp.stack([losses[0], losses[-1]]), jax.tree.map(lambda leaf: leaf[at], frames)


class Derivatives:
    """The losses, and three kinds of derivatives, of one closure."""

    def __init__(self, closure, options: dict | None):
        self.both = columns_of(closure)
        self.zero = jax.tree.map(jnp.zeros_like, self.both)
        compiled: Any = partial(jax.jit, compiler_options=options)
        # Of the sum over all columns of the losses by weight.
        loss = lambda both, weights: jnp.sum(weights @ losses_of(*both)[0])  # noqa: E731
        self.reverse = compiled(jax.grad(loss))
        self._jvp = compiled(
            lambda both, tangents: jax.jvp(lambda both: losses_of(*both)[0], (both,), (tangents,))
        )

    def losses(self, both):
        """From the program of their derivatives."""
        return self._jvp(both, self.zero)[0]

    def forward(self, both, tangents):
        return self._jvp(both, tangents)[1]

    @cached_property
    def gradients(self):
        """By all numbers, one per number of steps."""
        return [self.reverse(self.both, weights) for weights in jnp.eye(len(N_STEPS))]


@pytest.fixture(scope="module")
def derivatives(closure):
    return Derivatives(closure, NOT_OPTIMISED)


class ManyColumns:
    """The losses of every case at all points of a difference, in one batch."""

    def __init__(self, closure):
        self.both = columns_of(closure, N_POINTS)
        self.values: Any = jax.jit(lambda both: losses_of(*both))

    def losses(self, path, pattern, points) -> np.ndarray:
        """Losses per point, number of steps and case, where a number changes along a pattern."""
        change = jnp.repeat(points, len(CASES)) * jnp.tile(pattern, N_POINTS)
        losses, _ = self.values(replace_leaf(self.both, path, leaf_of(self.both, path) + change))
        return np.moveaxis(np.asarray(losses).reshape(-1, N_POINTS, len(CASES)), 1, 0)


@pytest.fixture(scope="module")
def many_columns(closure):
    return ManyColumns(closure)


def columns_of(closure, times: int = 1):
    """The model with a set of parameters per column, and the batch of all cases, one or more times."""

    def spread(leaf):
        return jnp.broadcast_to(leaf[..., None], (*leaf.shape, times * len(CASES)))

    return jax.tree.map(spread, Model(closure)), batch_of_cases(times).unlabelled()


def directions(closure):
    """Path of a number per column in (model, case), and the size of a change of it."""
    for info in iterate_parameters(closure):
        if info.value is not None:
            yield f"0.closure.{info.path}", abs(float(info.value)) or 1.0
    for info in iterate_vectors(closure):
        yield f"0.closure.{info.path}", 1.0
    for name, scale in (("stress_u", 0.1), ("heat_flux", 100.0), ("freshwater_flux", 1e-4)):
        yield f"1.forcing.fluxes.{name}", scale
    for name in ("temperature", "u"):
        yield f"1.initial_state.{name}", 0.01


def leaf_of(both, path):
    return get_leaf(both[int(path[0])], path[2:])


def replace_leaf(both, path, value):
    return eqx.tree_at(lambda both: leaf_of(both, path), both, value)


def pattern_of(value):
    """A change of all times or levels at once, in each column; with height by other amounts."""
    if value.ndim == 1:
        return jnp.ones_like(value)
    shape = (-1,) + (1,) * (value.ndim - 1)
    return jnp.cos(jnp.arange(value.shape[0], dtype=float)).reshape(shape) + jnp.zeros_like(value)


def slopes_of(gradients, path, pattern):
    """Derivatives of the losses along a pattern, per number of steps and column."""
    slopes = [np.asarray(leaf_of(gradient, path) * pattern) for gradient in gradients]
    return np.stack([slope.reshape(-1, len(CASES)).sum(axis=0) for slope in slopes])


@pytest.mark.slow
def test_reverse_equals_forward(closure, derivatives):
    both, sizes = derivatives.both, np.abs(np.asarray(derivatives.losses(derivatives.both)))
    # A scatter leaves the one kernel of the time loop, which then takes several times as long.
    assert "scatter" not in str(derivatives.reverse.trace(both, jnp.ones(len(N_STEPS))).jaxpr)
    for path, scale in directions(closure):
        pattern = pattern_of(leaf_of(both, path))
        by_reverse = slopes_of(derivatives.gradients, path, pattern)
        by_forward = np.asarray(derivatives.forward(both, replace_leaf(derivatives.zero, path, pattern)))
        for ours, theirs, size, n_steps in zip(by_forward, by_reverse, sizes, N_STEPS, strict=True):
            message = f"{path} over {n_steps} steps"
            np.testing.assert_allclose(
                ours, theirs, rtol=SAME, atol=1e-12 * np.max(size) / scale, err_msg=message
            )


@pytest.mark.slow
def test_reverse_equals_central_differences(closure, derivatives, many_columns):
    both, sizes = derivatives.both, np.abs(np.asarray(derivatives.losses(derivatives.both)))
    wrong, unknown = [], []
    for path, scale in directions(closure):
        pattern = pattern_of(leaf_of(both, path))
        by_reverse = slopes_of(derivatives.gradients, path, pattern)
        difference = central_difference(partial(many_columns.losses, path, pattern), 0.0, scale)
        # Rounding of the loss over an interval of 7e-6.
        tolerance = ROUNDING / 7e-6 * sizes / scale
        if not np.all(difference.agrees(by_reverse, tolerance)):
            wrong.append(f"{path} over {N_STEPS} steps: {by_reverse} is not {difference}")
        # On a kink, and where switches follow closely, no difference can tell: in another case one can.
        if not np.all(np.any(difference.holds(10.0 * tolerance, fraction=1e-4), axis=1)):
            unknown.append(f"{path} over {N_STEPS} steps: {difference}")
    assert not wrong, "\n".join(wrong)
    assert not unknown, "\n".join(unknown)


@pytest.mark.slow
def test_gradient_is_finite_at_the_bounds_of_every_parameter(closure, derivatives):
    bounds = [
        (info.path, bound)
        for info in iterate_parameters(closure)
        for bound in info.valid_range
        if info.value is not None and np.isfinite(bound)
    ]
    not_finite = []
    # One bound per column; each in two cases, of which one has no stratification, wind or no flux at all.
    for first in range(0, len(bounds), len(CASES)):
        for shift in (0, 2):
            some = np.roll(np.arange(first, first + len(CASES)) % len(bounds), shift)
            both = derivatives.both
            for number, (path, bound) in ((i, bounds[i]) for i in some):
                path = f"0.closure.{path}"
                both = replace_leaf(both, path, jnp.where(some == number, bound, leaf_of(both, path)))
            gradient = derivatives.reverse(both, jnp.ones(len(N_STEPS)))
            for where, leaf in jax.tree_util.tree_leaves_with_path(gradient):
                for i in {int(index[-1]) % len(CASES) for index in np.argwhere(~np.isfinite(leaf))}:
                    path, bound = bounds[some[i]]
                    place = f"{list(CASES)[i]}, {jax.tree_util.keystr(where)}"
                    not_finite.append(f"{path} = {bound:g}, {place}")
    assert not not_finite, "\n".join(not_finite)


@pytest.mark.parametrize("closure", under_test({"Constant", "KEpsilon"}), indirect=True, scope="module")
def test_optimised_program_equals_one_without_optimisation(closure, derivatives):
    """Losses and gradients: the compiler has given wrong code in silence before."""
    optimised = Derivatives(closure, None)
    both, sizes = derivatives.both, np.abs(np.asarray(derivatives.losses(derivatives.both)))
    np.testing.assert_allclose(optimised.losses(both), derivatives.losses(both), rtol=1e-9, atol=0.0)
    of_each = zip(jnp.eye(len(N_STEPS)), derivatives.gradients, sizes, strict=True)
    for weights, expected, size in of_each:
        found = optimised.reverse(both, weights)
        for path, scale in directions(closure):
            np.testing.assert_allclose(
                leaf_of(found, path), leaf_of(expected, path), rtol=1e-6, atol=1e-11 * np.max(size) / scale
            )
