"""A closure with a uniform coefficient, a seiche as a term, and cases in a file of three numbers."""

from pathlib import Path
from typing import Literal

import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite._types import CenterArray
from tunax_lite.closures import AbstractDiagnosticClosure, ClosureInputs, EddyCoefficients
from tunax_lite.column.terms import AbstractTerm, Column, Tendency
from tunax_lite.column.terms.base import acceleration
from tunax_lite.config.case import AbstractFileCase
from tunax_lite.declarations import named
from tunax_lite.io.errors import FileFormatError, decimal, read_text


@named("uniform_mixing")
class UniformMixing(AbstractDiagnosticClosure[EddyCoefficients]):
    """The same coefficient on all inner faces.

    Args:
        coefficient: eddy viscosity and diffusivity [m2 s-1].
    """

    coefficient: tl.Scalar = tl.parameter(1e-3, unit="m2 s-1", valid_range=(0.0, 1.0))

    def diagnose(self, inputs: ClosureInputs) -> EddyCoefficients:
        everywhere = self.coefficient + jnp.zeros_like(inputs.shear_squared)
        return EddyCoefficients.from_inner_faces(everywhere, everywhere)


@named("seiche")
class Seiche(AbstractTerm):
    """An acceleration that swings, as in a basin that a storm has tilted.

    Args:
        amplitude: of the acceleration [m s-2].
        period: of the seiche [s].
    """

    amplitude: tl.Scalar = tl.parameter(1e-6, unit="m s-2", valid_range=(-1.0, 1.0))
    period: tl.Scalar = tl.parameter(7200.0, unit="s", valid_range=(1.0, 1e6))

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        swing: CenterArray = self.amplitude * jnp.cos(2.0 * jnp.pi * column.time / self.period)
        return acceleration(swing, 0.0 * swing, column.grid)


class SeicheCase(AbstractFileCase):
    """A basin from a file with its depth [m], temperature [degC] and the heat flux into it [W m-2]."""

    format: Literal["three_numbers"]  # pyright: ignore[reportIncompatibleVariableOverride]

    def read_file(self, path: Path) -> tuple[tl.Case, tl.Observations]:
        numbers = [decimal(word) for word in read_text(path, "text").split()]
        if len(numbers) != 3 or not np.isfinite(numbers).all():
            expected = "depth [m], temperature [degC] and heat flux [W m-2]"
            raise FileFormatError(path, "content", expected, f"{len(numbers)} words", "write three numbers")
        depth, temperature, heat = numbers
        grid = tl.Grid.uniform(depth, 8)
        state = tl.State.from_profiles(grid, temperature=temperature, salinity=0.1)
        forcing = tl.ConstantForcing(tl.SurfaceFluxes(heat_flux=heat))
        terms: dict[str, AbstractTerm] = {"seiche": Seiche()}
        case = tl.Case(grid, state, forcing, duration=7200.0, name=path.stem, terms=terms)
        measured = {"temperature": jnp.full((1, grid.n_cells), temperature)}
        return case, tl.Observations(jnp.zeros(1), grid.z_center, measured)


CASE_FORMATS = (SeicheCase,)
