"""Values that cannot be, and texts where numbers are meant, are answered in one sentence."""

import subprocess
import sys

PROGRAM = """
import warnings

import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
import tunax_lite.closures
from tunax_lite.air_sea import BulkForcing, Weather
from tunax_lite.column.time_series import TimeSeries

grid = tl.Grid.uniform(depth=40.0, n_cells=4)
water = tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.02 * z)
forcing = tl.ConstantForcing(tl.SurfaceFluxes(heat_flux=-50.0))
case, model = tl.Case(grid, water, forcing), tl.Model(tl.Constant())
time = jnp.arange(2) * 3600.0


def run(**options):
    given = {"dt": 600.0, "duration": 1200.0, "output_interval": 600.0} | options
    return tl.simulate(model, case, **given).state.temperature


def observed(value, z=grid.z_center):
    values = jnp.full((2, 4), 10.0).at[1, 2].set(value)
    return tl.Observations(time=time, z=z, profiles={"temperature": values})


air = Weather(*(jnp.full(2, value) for value in (5.0, 0.0, 10.0, 80.0, 1e5, 0.5, 0.0, 0.0, -50.0)))
series = TimeSeries(time, air, "air")
for given in (jnp.asarray(600), np.float32(600), 600):
    assert (run(dt=given, output_interval=given) == run()).all()
assert observed(jnp.nan).profiles and BulkForcing(series).humidity_measure == "relative"
for date in ("2012-06-10", "2012-06-10T00:00:00", "2012-06-10 12:00:00"):
    assert tl.Case(grid, water, forcing, start_time=date).start_time == date


class Careless(tl.closures.AbstractDiagnosticClosure[tl.closures.EddyCoefficients]):
    given: object

    def diagnose(self, inputs):
        return self.given


def careless(given):
    return tl.simulate(tl.Model(Careless(given)), case, dt=600.0, duration=600.0, output_interval=600.0)


def fresh(salinity):
    water = tl.State.from_profiles(grid, temperature=10.0, salinity=salinity)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tl.Case(grid, water, forcing)
    print(*(each.message for each in caught), sep="")


calls = (
    lambda: run(dt="600"),
    lambda: run(dt=True),
    lambda: run(output_interval=[600.0]),
    lambda: run(duration=np.timedelta64(600, "s")),
    lambda: jax.grad(lambda dt: run(dt=dt).sum())(600.0),
    lambda: run(checkpointing="steps"),
    lambda: run(checkpointing=tl.SaveSteps),
    lambda: tl.Grid.uniform("40", 4),
    lambda: tl.Grid.uniform(40.0, 4.5),
    lambda: tl.State.from_profiles(grid, temperature="10"),
    lambda: tl.SurfaceFluxes(stress_u="0.1"),
    lambda: tl.Case(grid, water, forcing, duration="1"),
    lambda: tl.Case(grid, water, forcing, start_time="yesterday"),
    lambda: observed(-9999.0),
    lambda: observed(290.0),
    lambda: observed(10.0, -grid.z_center[::-1]),
    lambda: BulkForcing(series, humidity_measure="dew"),
    lambda: BulkForcing(air),
    lambda: tl.Case(grid, water, forcing, latitude=95.0),
    lambda: tl.coriolis_parameter("45"),
    lambda: tl.KEpsilon(c_eps_1=None),
    lambda: tl.KEpsilon(c_eps_1=[1.4]),
    lambda: tl.KEpsilon(c_eps_1=1.4 + 0.1j),
    lambda: tl.Model(tl.Constant(), theta="1"),
    lambda: tl.Model(tl.Constant(), n_sweeps=1.5),
    lambda: tl.stack_cases(case),
    lambda: careless(jnp.ones(3)),
    lambda: careless(tl.closures.EddyCoefficients.within(jnp.ones(5), jnp.ones(5))),
    lambda: fresh(0.035),
    lambda: fresh(0.1),
)
assert tl.KEpsilon(length_limit=None).length_limit is None
at_45, at_the_equator = (tl.Case(grid, water, forcing, latitude=45.0, **given).coriolis_parameter
                         for given in ({}, {"coriolis_parameter": 0.0}))
np.testing.assert_allclose(at_45, 1.03126e-4, rtol=1e-5)  # 4 pi / 86164 s * sin(45 degrees)
assert at_the_equator == 0.0 == case.coriolis_parameter
for call in calls:
    try:
        print("nothing", call())
    except (TypeError, ValueError) as error:
        print(error)
"""


def test_each_is_one_sentence():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    instance = "simulate: expected checkpointing as an instance such as tl.SaveSteps(), tl.SaveSegments(), "
    instance += "tl.SaveEverything() or tl.Auto()"
    range_of = "observations: observed temperature: expected conservative temperature from -5 to 60 degC"
    faces = "Careless: expected eddy_viscosity and eddy_diffusivity on the 5 faces of the grid"
    coefficients = (
        "return EddyCoefficients.within(viscosity, diffusivity), each shaped as inputs.shear_squared."
    )
    cells = "Grid: expected a depth [m] and a whole number of cells"

    def seconds(name: str, got: str) -> str:
        return f"simulate: expected {name} as a number of seconds, such as {name}=600.0, got {got}."

    assert done.stdout.splitlines() == [
        seconds("dt", "'600'"),
        seconds("dt", "True"),
        seconds("output_interval", "[600.0]"),
        seconds("duration", "np.timedelta64(600,'s')"),
        seconds("dt", "a value that jax.jit or jax.grad has not computed yet"),
        f"{instance}, got 'steps'.",
        f"{instance}, got <class 'tunax_lite.column.checkpointing.SaveSteps'>.",
        f"{cells}, got '40' and 4.",
        f"{cells}, got 40.0 and 4.5.",
        "State: expected temperature as numbers or a function of z [m], got '10'.",
        "stress_u: expected a number or an array, got the text '0.1'; convert it.",
        "case: expected a positive duration [s], got '1'.",
        "case: expected a start_time such as 2012-06-10T00:00:00 (ISO 8601), got 'yesterday'.",
        f"{range_of}, got -9999; convert it.",
        f"{range_of}, got 290; it looks like K; convert it.",
        "observations: expected heights below the surface [m], which are negative, got 5 to 35; give depths "
        "as z = -depth.",
        "air: expected humidity_measure as one of relative, wet_bulb, dew_point, specific, got 'dew'.",
        "BulkForcing: expected a TimeSeries as weather, got Weather; give an instance of TimeSeries.",
        "latitude: expected a value between -90 and 90, got 95.",
        "latitude: expected a number, got '45'.",
        "c_eps_1: expected a number [1], got None; leave it out for the default.",
        "c_eps_1: expected a number or an array of real numbers, got [1.4].",
        "c_eps_1: expected a number or an array of real numbers, got (1.4+0.1j).",
        "theta: expected a number, got '1'.",
        "n_sweeps: expected a whole number, got 1.5.",
        "stack_cases: expected a list [case, ...], got one case.",
        f"{faces}, got an array; {coefficients}",
        f"{faces}, got eddy_viscosity of shape (7,); {coefficients}",
        "case: initial salinity: expected g kg-1, got 0.035 to 0.035, which is fresh water; if it is in "
        "kg kg-1, multiply it by 1000.",
        "nothing None",
        "",
        "nothing None",
    ], done.stderr
