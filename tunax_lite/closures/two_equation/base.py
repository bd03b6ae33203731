"""What the parameters of all two-equation closures share, and how an equation for psi follows from them.

Source: Umlauf and Burchard (2003), J. Mar. Res. 61, 235-265; Burchard and Baumert (1995), J. Geophys. Res.
100, 8523-8540, for c_3 in stable water.
"""

import abc
from typing import Any

from ..._types import Scalar, parameter
from ...declarations import setting
from ...numerics.limiters import at_least, safe_sqrt
from ..energy import AbstractEnergyClosure, EnergyStepper, S
from ..k_equation import AbstractDiffusion, SchmidtNumber, TransportedEnergy
from ..stability import AbstractStabilityFunctions
from ..walls import ShearFreeLayer
from .equation import Exponents, LengthScaleConstants, TransportedLength, WallFunction


class AbstractTwoEquation(AbstractEnergyClosure[S]):
    """k and a second quantity psi that holds the length scale.

    Args:
        steady_state_richardson_number: where sheared stratified turbulence neither grows nor decays [1]; c_3
            in stable water follows from it unless that is given.
        imposed_von_karman: kappa of the logarithmic layer [1], from which a constant of the equation for psi
            follows; `None` for what the constants imply.
        long_steps: whether steps may be much longer than k/eps: see `equation`. It costs a second step of
            the closure, and vanishes as steps become short.
    """

    steady_state_richardson_number: Scalar = parameter(0.25, valid_range=(0.05, 0.8))
    imposed_von_karman: Scalar | None = parameter(None, valid_range=(0.2, 0.6))
    long_steps: bool = setting(False)

    @property
    def von_karman(self) -> Scalar:
        """kappa of the logarithmic layer that the constants imply [1]."""
        return self._energy_stepper().walls.von_karman

    @abc.abstractmethod
    def _energy_stepper(self) -> EnergyStepper:
        """The equations for k and psi that the parameters give."""

    def _stable_constant(self) -> Any:
        """c_3 in stable water [1], given or derived."""
        equation = self._energy_stepper().length_scale
        assert isinstance(equation, TransportedLength)
        return equation.constants.c_3_stable

    def _with_schmidt_numbers(
        self,
        exponents: Exponents,
        constants: LengthScaleConstants,
        sigma: Scalar,
        shear_free_sigma: Any = None,
    ) -> EnergyStepper:
        """A constant sink and Schmidt numbers.

        Args:
            exponents, constants: of the equation for psi.
            sigma: Schmidt number of psi [1]; it follows from `imposed_von_karman` if that is given.
            shear_free_sigma: function from the stability functions to the Schmidt number below breaking
                waves, towards which that of psi varies; `None` for a constant one.
        """
        functions = self.stability.stability_functions()
        c_mu_0, n = functions.c_mu_0, exponents.n
        if self.imposed_von_karman is not None:
            growth = at_least(constants.c_2 - constants.c_1, 1e-4)
            sigma = (n * self.imposed_von_karman / c_mu_0) ** 2 / growth
        shear_free = sigma if shear_free_sigma is None else shear_free_sigma(functions)
        waves = self.surface.breaking_waves
        if waves is not None:
            decay, slope = _shear_free_decay(exponents, constants.c_2, self.sigma_k, shear_free, functions)
            waves = ShearFreeLayer.of(waves, decay, slope, functions.c_mu_shear_free / self.sigma_k)
        return self._with_equation(
            functions,
            exponents,
            constants,
            constants.c_2,
            SchmidtNumber(self.sigma_k, self.sigma_k),
            SchmidtNumber(sigma, shear_free, varies=shear_free_sigma is not None),
            self._von_karman(exponents, constants, sigma, c_mu_0),
            waves,
        )

    def _von_karman(
        self, exponents: Exponents, constants: LengthScaleConstants, sigma: Scalar, c_mu_0: Scalar
    ) -> Scalar:
        """kappa of the logarithmic layer [1], imposed or implied."""
        if self.imposed_von_karman is not None:
            return self.imposed_von_karman
        # Without a logarithmic layer (c_1 >= c_2) a thin one stands in: kappa divides at the walls.
        growth = at_least(sigma * (constants.c_2 - constants.c_1), 1e-4)
        return c_mu_0 * safe_sqrt(growth) / abs(exponents.n)

    def _with_equation(
        self,
        functions: AbstractStabilityFunctions,
        exponents: Exponents,
        constants: LengthScaleConstants,
        interior_c_2: Scalar,
        diffusion_of_tke: AbstractDiffusion,
        diffusion_of_psi: AbstractDiffusion,
        von_karman: Scalar,
        waves: ShearFreeLayer | None,
        *,
        wall_function: WallFunction | None = None,
        has_shortest: bool = False,
    ) -> EnergyStepper:
        """The two equations; `interior_c_2` is c_2 far from walls, from which c_3 follows."""
        if constants.c_3_stable is None:
            ri, c_1 = self.steady_state_richardson_number, constants.c_1
            c_3 = interior_c_2 + (c_1 - interior_c_2) / ri * functions.equilibrium_ratio(ri)
            constants = constants._replace(c_3_stable=c_3)
        limits = self._limits(has_shortest=has_shortest)
        parts = exponents, constants, diffusion_of_psi, limits, wall_function, self.long_steps
        length_scale, k_equation = TransportedLength(*parts), TransportedEnergy(diffusion_of_tke)
        return self._composed(
            k_equation, length_scale, functions, von_karman, waves, limits, repeats=self.long_steps
        )


def _shear_free_decay(
    exponents: Exponents,
    c_2: Scalar,
    sigma_k: Scalar,
    sigma_psi: Scalar,
    functions: AbstractStabilityFunctions,
) -> tuple[Scalar, Scalar]:
    """alpha and L [1] of turbulence that is stirred at a wall without shear."""
    _, m, n = exponents
    c_mu_0 = functions.c_mu_0
    spread = sigma_k + 24.0 * sigma_psi * c_2
    both = 1.0 + 4.0 * m
    decay = -4.0 * n * safe_sqrt(sigma_k) / (both * safe_sqrt(sigma_k) - safe_sqrt(spread))
    inside = (both + 8.0 * m**2) * sigma_k + 12.0 * sigma_psi * c_2
    inside = inside - both * safe_sqrt(sigma_k * spread)
    return decay, c_mu_0 * safe_sqrt(c_mu_0 / functions.c_mu_shear_free * inside / (12.0 * n**2))
