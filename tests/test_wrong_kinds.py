"""Wrong arguments are answered in one sentence where types are not checked at run time, as users have it."""

import subprocess
import sys

PROGRAM = """
import tunax_lite as tl

grid = tl.Grid.uniform(depth=50.0, n_cells=4)
water = tl.State.from_profiles(grid, temperature=lambda z: 20.0)
case = tl.Case(grid, water, tl.ConstantForcing(tl.SurfaceFluxes()))
calls = (
    lambda: tl.simulate(tl.Constant(), case),
    lambda: tl.simulate(case, tl.Model(tl.Constant())),
    lambda: tl.simulate(tl.Model(tl.Constant()), "case.nc"),
    lambda: tl.Model("k_epsilon"),
    lambda: tl.Model(tl.KEpsilon),
)
for call in calls:
    try:
        call()
    except TypeError as error:
        print(error)
"""


def test_each_is_one_sentence():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    expected = "simulate: expected a Model and a Case, got"
    assert done.stdout.splitlines() == [
        f"{expected} Constant and Case; wrap the closure: tl.Model(Constant(...)).",
        f"{expected} Case and Model; swap them.",
        f"{expected} Model and str; call tl.simulate(tl.Model(closure), case).",
        "Model: expected a closure such as tl.KEpsilon(), got 'k_epsilon'; make an instance.",
        "Model: expected a closure such as tl.KEpsilon(), got the class KEpsilon; make an instance.",
    ], done.stderr
