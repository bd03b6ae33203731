"""Wrong arguments are answered in one sentence where types are not checked at run time, as users have it."""

import subprocess
import sys

import pytest

from tests.errors import missing_from

PROGRAM = """
import sys
import numpy as np
import tunax_lite as tl

grid = tl.Grid.uniform(depth=50.0, n_cells=4)
water = tl.State.from_profiles(grid, temperature=lambda z: 20.0)
fluxes = tl.SurfaceFluxes()
case = tl.Case(grid, water, tl.ConstantForcing(fluxes))
model = tl.Model(tl.ConstantDiffusivity())
times = {"dt": 600.0, "duration": 3600.0}
run = tl.simulate(model, case, **times, output_interval=1200.0)
dates = np.array(["2015-04-01", "2015-04-02"], "M8[s]")
x = tl.unconstrained(tl.KEpsilon(), only=["c_eps_1"])
for call in sys.argv[1:]:
    try:
        eval(call)
    except (TypeError, AttributeError, ValueError) as error:
        print(error)
"""

# Calls, and what the message of each names.
CALLS = {
    "tl.simulate(tl.KEpsilon(), case)": "KEpsilon Case tl.Model(KEpsilon(...))",
    "tl.simulate(case, tl.Model(tl.ConstantDiffusivity()))": "Case Model swap",
    'tl.simulate(tl.Model(tl.KEpsilon()), "case.nc")': "Model str tl.simulate(tl.Model(closure) case)",
    'tl.Model("k_epsilon")': "Model closure k_epsilon KEpsilon",
    "tl.Model(tl.KEpsilon)": "Model closure class KEpsilon(...)",
    'tl.Model("catke_recommended")': "Model catke_recommended CATKE.recommended()",
    "tl.Model(fluxes)": "Model SurfaceFluxes ConstantDiffusivity ConvectiveAdjustment",
    'tl.KEpsilon(stability="cheng")': "KEpsilon AbstractStability cheng SecondMomentClosure.of('cheng')",
    'tl.KEpsilon(c_eps_1="1.44")': "c_eps_1 1.44",
    "tl.closures.MassFluxConvection(tl.KEpsilon())": "entrainment number KEpsilon",
    'tl.KPP(langmuir="li_2016")': "KPP Langmuir li_2016 method='LWF16'",
    "tl.Case(grid, water, fluxes)": "Case AbstractForcing SurfaceFluxes ConstantForcing",
    "tl.Case(50.0, water, case.forcing)": "Case Grid 50",
    'tl.Case(grid, water, case.forcing, terms={"waves": 3})': "Case AbstractTerm terms 3 VerticalVelocity",
    'tl.ConstantForcing({"heat_flux": -100.0})': "ConstantForcing SurfaceFluxes dict",
    "tl.simulate(model, case, start=run.state, **times)": "simulate trajectory.restart(frame) State",
    'tl.simulate(model, case, means="budgets", **times)': "simulate means budgets",
    "tl.Model(x)": "Model Unconstrained tl.constrained(x)",
    "tl.simulate(x, case)": "simulate Unconstrained tl.constrained(x)",
    "tl.unconstrained(x)": "unconstrained tl.constrained(x)",
    "tl.constrained(tl.constrained(x))": "constrained tl.unconstrained KEpsilon",
    'tl.save_closure("closure.yaml", x)': "save_closure Unconstrained tl.constrained(x)",
    "x.prepare()": "prepare tl.constrained(x)",
    'tl.Observations(dates, series={"sst": np.ones(2)})': "time seconds dates from_dates",
}


@pytest.mark.long  # a process
def test_each_is_one_sentence():
    command = [sys.executable, "-c", PROGRAM, *CALLS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    messages = done.stdout.splitlines()
    assert len(messages) == len(CALLS), done.stderr
    for message, parts in zip(messages, CALLS.values(), strict=True):
        assert message.endswith(".") and not missing_from(message, parts), message
