"""The discovered diffusivity of ePBL, against the program that has it."""

import jax.numpy as jnp
import numpy as np

from tests.errors import error_naming
from tunax_lite.calibration import with_parameters
from tunax_lite.closures import EPBL
from tunax_lite.closures.epbl import SurfaceForcing
from tunax_lite.config.closures import ClosureSection
from tunax_lite.extensions.learned import DiscoveredProfile, VelocityByDepth, VelocityByRotation

# Of the subroutines `kappa_eqdisc`, `get_eqdisc_v0` and `get_eqdisc_v0h` of MOM6 (NOAA-GFDL/MOM6,
# src/parameterizations/vertical/MOM_energetic_PBL.F90, commit f21e9ea656da), compiled in double precision,
# with their default constants. A case has two lines: B [m2 s-3], |f| [s-1], u* [m s-1], H [m], v_0 and v_0^h
# [m s-1]; the shape at 5, 10, ... 50 m. The sixth is beyond the limit of B, the last two without rotation.
MOM6 = """
0.0e+00 1.0e-04 1.0e-02 3.0e+01 7.8536684E-04 7.8500000E-04
0.647829 0.965076 0.937856 0.600861 0.202335 0.010000 0.010000 0.010000 0.010000 0.010000
1.0e-08 1.0e-04 1.0e-02 2.0e+01 6.1733993E-04 6.7539411E-04
0.940217 0.842276 0.321352 0.010000 0.010000 0.010000 0.010000 0.010000 0.010000 0.010000
2.0e-07 5.0e-05 8.0e-03 1.2e+01 1.3622830E-04 1.4566447E-04
0.749968 0.105396 0.010000 0.010000 0.010000 0.010000 0.010000 0.010000 0.010000 0.010000
-1.0e-08 1.0e-04 1.0e-02 3.5e+01 1.0072521E-03 9.7193763E-04
0.517249 0.848207 0.992875 0.902407 0.560051 0.185869 0.010000 0.010000 0.010000 0.010000
-2.0e-07 5.0e-05 6.0e-03 4.4e+01 5.2130653E-03 3.2775668E-03
0.387208 0.680074 0.878597 0.982776 0.975240 0.744227 0.400284 0.104249 0.010000 0.010000
-1.0e-06 1.2e-04 3.0e-03 5.0e+01 9.8217014E-03 5.5456698E-03
0.329712 0.593692 0.791942 0.924460 0.991247 0.967894 0.746481 0.425176 0.135757 0.010000
-1.0e-08 0.0e+00 1.2e-02 2.5e+01 1.9227829E-03 1.0418317E-03
0.966049 0.743333 0.422840 0.134938 0.010000 0.010000 0.010000 0.010000 0.010000 0.010000
3.0e-09 0.0e+00 1.2e-02 1.7e+01 1.8153027E-04 9.1616459E-04
0.881701 0.442064 0.056327 0.010000 0.010000 0.010000 0.010000 0.010000 0.010000 0.010000
"""
AT = jnp.arange(5.0, 51.0, 5.0)


def of_mom6():
    """B, |f|, u*, H, both velocities, and the shape."""
    lines = MOM6.strip().splitlines()
    for head, shape in zip(lines[::2], lines[1::2], strict=True):
        yield *map(float, head.split()), [float(each) for each in shape.split()]


def test_as_in_mom6():
    for flux, rotation, friction, depth, by_rotation, by_depth, shape in of_mom6():
        forcing = SurfaceForcing(*map(jnp.asarray, (friction, flux, rotation)))
        for velocity, expected in ((VelocityByRotation(), by_rotation), (VelocityByDepth(), by_depth)):
            profile = DiscoveredProfile(velocity=velocity)
            ours = np.asarray(profile.diffusivity(AT, jnp.asarray([depth]), forcing))[:, 0]
            np.testing.assert_allclose(ours / (expected * depth), shape, rtol=1e-7, atol=6e-7)


def test_by_name_in_a_configuration():
    options = {"profile": {"name": "equation_discovery", "velocity": "depth", "c_2": 0.5}}
    numbers = {"profile.velocity.c_17": 7.0}
    closure = ClosureSection(name="epbl_om4", options=options, parameters=numbers).build()
    assert isinstance(closure, EPBL) and isinstance(closure.profile, DiscoveredProfile)
    velocity = closure.profile.velocity
    assert isinstance(velocity, VelocityByDepth) and float(velocity.c_17) == 7.0
    assert float(closure.profile.c_2) == 0.5
    with error_naming(ValueError, "c_16"):
        with_parameters(EPBL(profile=DiscoveredProfile()), {"profile.velocity.c_16": 1.0})
