"""What every closure must do in every case: `ALL_CLOSURES` times `small_cases` of `helpers.py`.

Compiling takes most of the time. One program per closure gives values and gradients of all cases in one
batch: columns are cases, times the points of a central difference. It is not optimised; long runs are.
"""

from functools import cached_property, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import budget_gaps
from tests.errors import error_naming
from tests.helpers import (
    ALL_CLOSURES,
    CLOSURE_IDS,
    N_POINTS,
    ROUNDING,
    SAME,
    VARIANTS,
    central_difference,
    column,
    get_leaf,
    small_cases,
    some_long,
)
from tunax_lite import Grid, Model, SaveSteps, simulate, stack_cases
from tunax_lite._types import iterate_parameters, iterate_vectors
from tunax_lite.column.integrate import batched_case, integrate, start_of

N_CELLS, DEPTH = 8, 16.0
CASES = small_cases(N_CELLS, DEPTH)
LARGER_CASES = small_cases(12, 24.0)  # for long runs, whose turbulence would reach the bottom of the others
LAST = len(CASES) - 1  # the case with everything
N_STEPS, DT = 20, 300.0
LONG_RUN, SHORT_STEP = 500, 60.0
NOT_OPTIMISED = {"xla_backend_optimization_level": 0}

# What they switch on beyond numbers, others have, too.
LIKE_OTHERS = {"KOmega.recommended", "CATKE.recommended"}
LIKE_OTHERS |= {"GenericLengthScale.recommended", "GenericLengthScale.generated"}
UNDER_TEST = dict(zip(CLOSURE_IDS, ALL_CLOSURES, strict=True)) | VARIANTS
UNDER_TEST = {name: closure for name, closure in UNDER_TEST.items() if name not in LIKE_OTHERS}
PRESETS = {*VARIANTS, "epbl_om4"}
CLOSURES = [name for name in CLOSURE_IDS if name not in PRESETS]


@pytest.fixture(scope="module", params=some_long(UNDER_TEST, PRESETS.__contains__))
def closure(request):
    """Each closure in turn: all tests of one follow each other, share its programs, and let go of them."""
    return UNDER_TEST[request.param]


def of_closures(*names):
    return pytest.mark.parametrize("closure", names, indirect=True, scope="module")


def run_of(both, n_steps: int, dt: float):
    """A smooth number of the end of a run per column, and all steps with the start, of a model and a case."""
    model, case = both
    case = batched_case(model, case)
    start = start_of(model, case)
    options: Any = dict(n_frames=n_steps, steps_per_frame=1, checkpointing=SaveSteps())
    save = lambda carry, _: (carry.now.state, carry.now.clo_state)  # noqa: E731
    _, steps = integrate(model, case, start, dt, **options, save=save)
    (state, mixing), initial = jax.tree.map(lambda leaf: leaf[-1], steps), case.initial_state
    warming = state.temperature - initial.temperature
    freshening = state.salinity - initial.salinity
    terms = (
        warming**2 + 0.1 * warming,
        freshening**2 + 0.1 * freshening + state.tracers["dye"] ** 2,
        10.0 * ((state.u - 0.01) ** 2 + (state.v - 0.02) ** 2),
        (mixing.eddy_viscosity + 2.0 * mixing.eddy_diffusivity)[1:-1],
    )
    joined = lambda first, rest: jnp.concatenate([first[None], rest])  # noqa: E731
    frames = jax.tree.map(joined, (start.state, start.clo_state), steps)
    return sum(jnp.mean(term, axis=0) for term in terms), frames


def columns_of(closure, times: int, cases=CASES):
    """The model with a set of parameters per column, and the batch of all cases, several times."""
    batch = stack_cases(list(cases.values()) * times).unlabelled()
    return spread(Model(closure), times * len(CASES)), batch


def spread(tree, n_columns: int):
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[..., None], (*leaf.shape, n_columns)), tree)


def leaf_of(both, path: str):
    return get_leaf(both[int(path[0])], path[2:])


def replace_leaf(both, path: str, value):
    return eqx.tree_at(lambda both: leaf_of(both, path), both, value)


def inputs_of(both) -> list:
    """What derivatives are taken by; by the grid and the water, too, programs are larger by a fifth."""
    return [leaf_of(both, path) for path in ("0.closure", "1.forcing.fluxes", "1.initial_state")]


class Run:
    """Numbers, frames and gradients of a run of all columns, from one program."""

    def __init__(self, columns, n_steps: int, dt: float, options=None):
        self.both = columns

        def loss(inputs, both):
            losses, frames = run_of(eqx.tree_at(inputs_of, both, inputs), n_steps, dt)
            return jnp.sum(losses), (losses, frames)

        compiled: Any = partial(jax.jit, compiler_options=options)
        self.program = compiled(jax.value_and_grad(loss, has_aux=True))
        self.forward = compiled(
            lambda inputs, change, both: jax.jvp(lambda x: loss(x, both)[1][0], (inputs,), (change,))[1]
        )

    def values(self, both):
        return self.program(inputs_of(both), both)[0][1]

    def gradient_at(self, both):
        """By the inputs, in the shape of model and case, in which all else is zero."""
        gradient = self.program(inputs_of(both), both)[1]
        return eqx.tree_at(inputs_of, jax.tree.map(jnp.zeros_like, both), gradient)

    @cached_property
    def result(self):
        return self.values(self.both)

    @cached_property
    def gradient(self):
        return self.gradient_at(self.both)

    def slope(self, path: str, pattern) -> np.ndarray:
        """Derivative of the loss of each case along a pattern."""
        slope = np.asarray(leaf_of(self.gradient, path) * pattern)
        return slope.reshape(-1, slope.shape[-1]).sum(axis=0)[: len(CASES)]


@pytest.fixture(scope="module")
def run(closure):
    return Run(columns_of(closure, N_POINTS), N_STEPS, DT, NOT_OPTIMISED)


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


def pattern_of(value):
    """A change of all times or levels at once, in each column; with height by other amounts."""
    if value.ndim == 1:
        return jnp.ones_like(value)
    shape = (-1,) + (1,) * (value.ndim - 1)
    return jnp.cos(jnp.arange(value.shape[0], dtype=float)).reshape(shape) + jnp.zeros_like(value)


def test_states_are_sound_and_budgets_close(run):
    assert_sound(run)
    assert all(np.all(leaf >= 0.0) for leaf in jax.tree.leaves(run.result[1][1]))


def assert_sound(run):
    """Shapes, finite numbers, closed ends and budgets, of a closure whose state may have both signs."""
    state, clo_state = run.result[1]
    n_columns = len(CASES) * N_POINTS
    assert {leaf.shape for leaf in jax.tree.leaves(state)} == {(N_STEPS + 1, N_CELLS, n_columns)}
    places = {(N_STEPS + 1, *place, n_columns) for place in ((N_CELLS + 1,), (N_CELLS,), ())}
    assert {leaf.shape for leaf in jax.tree.leaves(clo_state)} <= places
    for leaf in jax.tree.leaves((state, clo_state)):
        assert leaf.dtype == np.float64 and np.all(np.isfinite(leaf))
    for coefficient in (clo_state.eddy_viscosity, clo_state.eddy_diffusivity):
        assert coefficient.shape[1] == N_CELLS + 1
        # The first frame may hold the start value of a closure, which the ends do not use.
        assert np.all(coefficient[1:, [0, -1]] == 0.0)
    for i, case in enumerate(CASES.values()):
        gaps = budget_gaps(column(state, i), case, DT)
        assert max(gaps.values()) < 1e-14, gaps


def assert_close(ours, theirs, rtol, atol):
    """Two trees, with an absolute tolerance relative to the largest value of each leaf."""
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol * np.max(np.abs(other)))


def in_all_columns(run, case):
    """Frames of a case that is in all columns of the same program, of the first and the last."""
    batch = stack_cases([case] * N_POINTS * len(CASES)).unlabelled()
    _, frames = run.values((run.both[0], batch))
    return column(frames, 0), column(frames, -1)


def test_columns_are_alone_and_have_no_preferred_direction(run):
    for i, case in enumerate(CASES.values()):
        for found in in_all_columns(run, case):
            assert_close(found, column(run.result[1], i), rtol=1e-12, atol=1e-14)
    case = CASES["everything"]
    fluxes: Any = case.forcing.fluxes  # pyright: ignore[reportAttributeAccessIssue]
    stress = lambda c: (c.forcing.fluxes.stress_u, c.forcing.fluxes.stress_v)  # noqa: E731
    turned = eqx.tree_at(stress, case, (-fluxes.stress_v, fluxes.stress_u))
    (state, mixing), _ = in_all_columns(run, turned)
    before, same = column(run.result[1], LAST)
    assert_close((state.u, state.v), (-before.v, before.u), rtol=1e-7, atol=1e-9)
    assert_close((state.temperature, mixing), (before.temperature, same), rtol=1e-7, atol=1e-9)


# Every operation compiles by itself.
@of_closures("ConstantDiffusivity", "RiBased", "KEpsilon", "CATKE")
def test_compiled_equals_interpreted(closure, run):
    """One step of a column without a batch axis. Guards, too, against wrong code from the compiler."""
    model, time, dt = Model(closure), jnp.asarray(DT), jnp.asarray(DT)
    before, after = (jax.tree.map(lambda leaf, n=n: leaf[n, ..., LAST], run.result[1]) for n in (1, 2))
    state, clo_state = jax.tree.map(jnp.asarray, before)
    with jax.disable_jit():
        found = model.step(state, clo_state, list(CASES.values())[LAST], time, dt)
    # Relative to the column: where velocity decays downward, every cell adds rounding.
    assert_close(found, after, rtol=1e-10, atol=1e-13)


def check_differences(closure, run, values, both):
    """Gradients against central differences of the losses that `values` gives at points in each direction."""
    sizes, wrong, unknown = np.abs(run.result[0][: len(CASES)]), [], []
    for path, scale in directions(closure):
        value, pattern = leaf_of(both, path), pattern_of(leaf_of(run.both, path))

        def losses_at(points, path=path, value=value) -> np.ndarray:
            changed = value + jnp.repeat(points, len(CASES)) * pattern_of(value)
            return np.asarray(values(replace_leaf(both, path, changed))[0]).reshape(N_POINTS, len(CASES))

        by_reverse, difference = run.slope(path, pattern), central_difference(losses_at, 0.0, scale)
        # Rounding of the loss over an interval of 7e-6.
        tolerance = ROUNDING / 7e-6 * sizes / scale
        if not np.all(difference.agrees(by_reverse, tolerance)):
            wrong.append(f"{path}: {by_reverse} is not {difference}")
        # On a kink, and where switches follow closely, no difference can tell: in another case one can.
        if not np.any(difference.holds(10.0 * tolerance, fraction=1e-4)):
            unknown.append(f"{path}: {difference}")
    assert not wrong, "\n".join(wrong)
    assert not unknown, "\n".join(unknown)


def test_gradient_equals_central_differences(closure, run):
    check_differences(closure, run, run.values, run.both)


def test_gradient_is_finite_at_the_bounds_of_every_parameter(closure, run):
    bounds = [
        (f"0.closure.{info.path}", bound)
        for info in iterate_parameters(closure)
        for bound in info.valid_range
        if info.value is not None and np.isfinite(bound)
    ]
    not_finite = []
    for first in range(0, len(bounds), N_POINTS):
        some, both = bounds[first : first + N_POINTS], run.both
        for number, (path, bound) in enumerate(some):
            here = np.arange(N_POINTS * len(CASES)) // len(CASES) == number
            both = replace_leaf(both, path, jnp.where(here, bound, leaf_of(both, path)))
        for where, leaf in jax.tree_util.tree_leaves_with_path(run.gradient_at(both)):
            for i in {int(index[-1]) for index in np.argwhere(~np.isfinite(leaf))}:
                path, bound = some[i // len(CASES)]
                place = f"{list(CASES)[i % len(CASES)]}, {jax.tree_util.keystr(where)}"
                not_finite.append(f"{path} = {bound:g}, {place}")
    assert not not_finite, "\n".join(not_finite)


# At length.


@pytest.fixture(scope="module")
def long_run(closure):
    return Run(columns_of(closure, 1, LARGER_CASES), LONG_RUN, SHORT_STEP, NOT_OPTIMISED)


@pytest.mark.long
@of_closures(*CLOSURES)
def test_derivatives_of_a_long_run(closure, long_run):
    """Reverse = forward = central differences of the optimised program that users run, over 500 steps."""
    run = long_run
    # A scatter leaves the one kernel of the time loop, which then takes several times as long.
    assert "scatter" not in str(run.program.trace(inputs_of(run.both), run.both).jaxpr)
    zero, sizes = jax.tree.map(jnp.zeros_like, run.both), np.abs(run.result[0])
    for path, scale in directions(closure):
        pattern = pattern_of(leaf_of(run.both, path))
        ours = run.forward(inputs_of(run.both), inputs_of(replace_leaf(zero, path, pattern)), run.both)
        np.testing.assert_allclose(
            ours, run.slope(path, pattern), rtol=SAME, atol=1e-12 * np.max(sizes) / scale, err_msg=path
        )
    optimised = jax.jit(lambda both: run_of(both, LONG_RUN, SHORT_STEP))
    many = columns_of(closure, N_POINTS, LARGER_CASES)
    check_differences(closure, run, optimised, many)
    # The frames of both programs, as far as rounding does not grow over the base of a layer.
    found = jax.tree.map(lambda leaf: np.asarray(leaf)[:20, ..., : len(CASES)], optimised(many)[1])
    assert_close(found, jax.tree.map(lambda leaf: leaf[:20], run.result[1]), rtol=1e-7, atol=1e-8)


def test_known_case_inside_a_traced_function():
    """Where only a parameter is traced, the checks of the case must still see its numbers."""
    case, finer, closure = CASES["everything"], Grid.uniform(DEPTH, 2 * N_CELLS), UNDER_TEST["KEpsilon"]

    def end(viscosity):
        model = Model(closure, viscosity)
        run = simulate(model, case.on(finer), dt=DT, duration=DT, output_interval=DT)
        return run.state.u[-1]

    assert jax.eval_shape(end, jnp.asarray(1e-6)).shape == (2 * N_CELLS,)
    with error_naming(ValueError, "0 43200"):
        too_long = 2.0 * case.duration
        jax.eval_shape(lambda nu: simulate(Model(closure, nu), case, duration=too_long), jnp.asarray(1e-6))
