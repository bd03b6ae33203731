"""Wrong arguments are answered in one sentence where types are not checked at run time, as users have it."""

import subprocess
import sys

PROGRAM = """
import numpy as np
import tunax_lite as tl

grid = tl.Grid.uniform(depth=50.0, n_cells=4)
water = tl.State.from_profiles(grid, temperature=lambda z: 20.0)
fluxes = tl.SurfaceFluxes()
case = tl.Case(grid, water, tl.ConstantForcing(fluxes))
model = tl.Model(tl.Constant())
run = tl.simulate(model, case, dt=600.0, duration=3600.0, output_interval=1200.0)
x = tl.unconstrained(tl.KEpsilon(), only=["c_eps_1"])
calls = (
    lambda: tl.simulate(tl.Constant(), case),
    lambda: tl.simulate(case, tl.Model(tl.Constant())),
    lambda: tl.simulate(tl.Model(tl.Constant()), "case.nc"),
    lambda: tl.Model("k_epsilon"),
    lambda: tl.Model(tl.KEpsilon),
    lambda: tl.Model("catke_recommended"),
    lambda: tl.Model(fluxes),
    lambda: tl.KEpsilon(stability="cheng"),
    lambda: tl.KEpsilon(c_eps_1="1.44"),
    lambda: tl.KPP(langmuir="li_2016"),
    lambda: tl.Case(grid, water, fluxes),
    lambda: tl.Case(50.0, water, case.forcing),
    lambda: tl.Case(grid, water, case.forcing, terms={"waves": 3}),
    lambda: tl.ConstantForcing({"heat_flux": -100.0}),
    lambda: tl.simulate(model, case, start=run.state, dt=600.0, duration=3600.0),
    lambda: tl.Model(x),
    lambda: tl.simulate(x, case),
    lambda: tl.unconstrained(x),
    lambda: tl.constrained(tl.constrained(x)),
    lambda: tl.save_closure("closure.nc", x),
    lambda: x.prepare(),
    lambda: tl.Observations(np.array(["2015-04-01", "2015-04-02"], "M8[s]"), series={"sst": np.ones(2)}),
)
for call in calls:
    try:
        call()
    except (TypeError, AttributeError, ValueError) as error:
        print(error)
"""


def test_each_is_one_sentence():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    expected = "simulate: expected a Model and a Case, got"
    closure = "Model: expected an AbstractClosure as closure"
    some = "Constant, ConvectiveAdjustment, PacanowskiPhilander, MunkAndersonMixing"
    remedy = "give tl.constrained(x), the module that they stand for"
    assert done.stdout.splitlines() == [
        f"{expected} Constant and Case; wrap the closure: tl.Model(Constant(...)).",
        f"{expected} Case and Model; swap them.",
        f"{expected} Model and str; call tl.simulate(tl.Model(closure), case).",
        f"{closure}, got 'k_epsilon'; make an instance: KEpsilon().",
        f"{closure}, got the class KEpsilon; make an instance: KEpsilon(...).",
        f"{closure}, got 'catke_recommended'; make an instance: CATKE.recommended().",
        f"{closure}, got SurfaceFluxes; give an instance of {some}.",
        "KEpsilon: expected an AbstractStability as stability, got 'cheng'; make an instance: "
        "SecondMomentClosure.of('cheng').",
        "c_eps_1: expected a number, got '1.44'.",
        "KPP: expected a Langmuir as langmuir, got 'li_2016'; make an instance: Langmuir(method='LWF16').",
        "Case: expected an AbstractForcing as forcing, got SurfaceFluxes; wrap it: "
        "ConstantForcing(SurfaceFluxes(...)).",
        "Case: expected a Grid as grid, got 50.0; give an instance of Grid.",
        "Case: expected an AbstractTerm as terms, got 3; give an instance of "
        "VerticalVelocity, LakeLevel, SurfaceSlope, MeanVelocity.",
        "ConstantForcing: expected a SurfaceFluxes as fluxes, got dict; give an instance of SurfaceFluxes.",
        "simulate: expected start=trajectory.restart(frame), got State.",
        f"{closure}, got Unconstrained; {remedy}.",
        f"{expected} Unconstrained and Case; {remedy}.",
        f"unconstrained: expected a module, got unconstrained numbers; {remedy}.",
        "constrained: expected what tl.unconstrained returns, got KEpsilon; use it as it is.",
        "save_closure: expected a closure, got Unconstrained; save tl.constrained(x).",
        f"'prepare' is no field of unconstrained numbers; {remedy}.",
        "observations: expected times [s] since the start, numbers that increase, got "
        "['2015-04-01T00:00:00' '2015-04-02T00:00:00'].",
    ], done.stderr
