"""Wrong arguments are answered in one sentence where types are not checked at run time, as users have it."""

import subprocess
import sys

import pytest

from tests.errors import missing_from

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


# What each message names.
NAMED = [
    "Constant Case tl.Model(Constant(...))",
    "Case Model swap",
    "Model str tl.simulate(tl.Model(closure) case)",
    "Model closure k_epsilon KEpsilon()",
    "Model closure class KEpsilon(...)",
    "Model catke_recommended CATKE.recommended()",
    "Model SurfaceFluxes Constant ConvectiveAdjustment",
    "KEpsilon AbstractStability cheng SecondMomentClosure.of('cheng')",
    "c_eps_1 1.44",
    "KPP Langmuir li_2016 Langmuir(method='LWF16')",
    "Case AbstractForcing SurfaceFluxes ConstantForcing(SurfaceFluxes(...))",
    "Case Grid 50",
    "Case AbstractTerm terms 3 VerticalVelocity",
    "ConstantForcing SurfaceFluxes dict",
    "simulate trajectory.restart(frame) State",
    "Model Unconstrained tl.constrained(x)",
    "simulate Unconstrained tl.constrained(x)",
    "unconstrained tl.constrained(x)",
    "constrained tl.unconstrained KEpsilon",
    "save_closure Unconstrained tl.constrained(x)",
    "prepare tl.constrained(x)",
    "observations [s] 2015-04-01T00:00:00",
]


@pytest.mark.long  # a process
def test_each_is_one_sentence():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    messages = done.stdout.splitlines()
    assert len(messages) == len(NAMED), done.stderr
    for message, parts in zip(messages, NAMED, strict=True):
        assert message.endswith(".") and not missing_from(message, parts), message
