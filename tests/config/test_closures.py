"""Closures of a configuration: parts by name, settings that are not numbers, and errors that say what is."""

import equinox as eqx
import pytest
from pydantic import ValidationError

from tests.errors import error_naming
from tests.helpers import get_leaf
from tunax_lite.closures import (
    CATKE,
    EPBL,
    TKE,
    BougeaultAndre,
    Boundary,
    BreakingWaves,
    ConstantWindEnergy,
    Exponents,
    GenericLengthScale,
    KEpsilon,
    KOmega,
    KrausTurner,
    MassFluxConvection,
    MellorYamada,
    MunkAnderson,
    OneEquation,
    Parabolic,
    Penetration,
    PriceWellerPinkel,
    ReichlHallbergWindEnergy,
    RiBased,
    SecondMomentClosure,
    SurfaceFlux,
    WaveShear,
    WithinColumn,
)
from tunax_lite.config import ConfigError, load_run
from tunax_lite.config.closures import ClosureSection


def build(name, options, **parameters):
    return ClosureSection(name=name, options=options, parameters=parameters).build()


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        (
            "k_epsilon",
            {
                "stability": {"name": "cheng", "equilibrium": "weak"},
                "surface": {"tke": "value", "breaking_waves": True},
                "length_limit": None,
            },
            KEpsilon(
                stability=SecondMomentClosure.of("cheng", equilibrium="weak"),
                surface=Boundary(tke="value", breaking_waves=BreakingWaves()),
                length_limit=None,
            ),
        ),
        (
            "one_equation",
            {"stability": "munk_anderson", "length": "bougeault_andre", "local_equilibrium": True},
            OneEquation(stability=MunkAnderson(), length=BougeaultAndre(), local_equilibrium=True),
        ),
        (
            "k_epsilon_oceananigans",
            {"surface": {"tke": "value"}},
            KEpsilon.as_in_oceananigans(surface=Boundary(tke="value")),
        ),
        ("catke", {"n_substeps": 2}, CATKE(n_substeps=2)),
        ("ri_based", {"taper": "linear"}, RiBased(taper="linear")),
        (
            "generic_length_scale",
            {"exponents": [3.0, 1.0, -1.06]},
            GenericLengthScale(exponents=Exponents(3.0, 1.0, -1.06)),
        ),
        (
            "mellor_yamada",
            {"wall_length": "linear", "internal_waves": {"name": "wave_shear"}},
            MellorYamada(wall_length="linear", internal_waves=WaveShear()),
        ),
        (
            "tke",
            {
                "length_bounds": {"name": "within_column", "half_spacing": True},
                "surface_energy": {"name": "flux", "factor": 2.0},
                "langmuir_cells": None,
                "penetration": {"name": "exponential", "time_step": 3600.0},
                "charnock_constant": None,
                "implicit_fraction": 1.0,
            },
            TKE(
                length_bounds=WithinColumn(half_spacing=True),
                surface_energy=SurfaceFlux(factor=2.0),
                langmuir_cells=None,
                penetration=Penetration(time_step=3600.0),
                charnock_constant=None,
                implicit_fraction=1.0,
            ),
        ),
        ("kraus_turner", {}, KrausTurner()),
        (
            "epbl",
            {"wind_energy": {"name": "constant", "decay": 0.0}, "exponent": 1},
            EPBL(wind_energy=ConstantWindEnergy(decay=0.0), exponent=1),
        ),
        (
            "epbl_om4",
            {"wind_energy": "reichl_hallberg"},
            EPBL.as_in_om4(wind_energy=ReichlHallbergWindEnergy()),
        ),
        ("price_weller_pinkel", {}, PriceWellerPinkel()),
        (
            "mass_flux",
            {
                "local": {"name": "one_equation", "options": {"length": "parabolic"}},
                "carries_turbulence": False,
            },
            MassFluxConvection(local=OneEquation(length=Parabolic()), carries_turbulence=False),
        ),
        ("mass_flux", {"local": "k_omega"}, MassFluxConvection(local=KOmega())),
    ],
)
def test_options_choose_the_parts(name, options, expected):
    assert eqx.tree_equal(build(name, options), expected)


def test_parameters_reach_into_chosen_parts():
    options = {"stability": "schumann_gerz", "surface": {"breaking_waves": True}}
    names = {"stability.flux_richardson_number": 0.2, "surface.breaking_waves.energy_flux_factor": 80.0}
    closure = build("k_omega", options, **names)
    for path, value in names.items():
        assert get_leaf(closure, path) == value
    with error_naming(ValidationError, "stability.flux_richardson_number KOmega"):
        build("k_omega", {}, **names)


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ("{stabilty: cheng}", ["expected an option of KEpsilon, got 'stabilty'; did you mean 'stability'"]),
        ("{stability: chang}", [".options.stability: ", "got 'chang'; did you mean 'cheng'"]),
        ("{stability: {equilibrium: weak}}", ["expected the key 'name', one of 'brueggemann'", "got none"]),
        (
            "{c_eps_1: 1.5}",
            ["expected an option of KEpsilon, got 'c_eps_1'; it is a number", "parameters.c_eps_1"],
        ),
        ("{surface: waves}", ["expected a mapping with some of the keys tke, length_scale, breaking_waves"]),
        ("{surface: {tk: flux}}", [".options.surface.tk: unknown key; did you mean 'tke'"]),
        ("{surface: {tke: dirichlet}}", [".options.surface.tke: expected 'flux' or 'value'", "'dirichlet'"]),
        ("{bottom: {breaking_waves: true}}", ["expected breaking waves at the surface only"]),
        (
            "{stability: {name: cheng, equilibrum: weak}, surface: {tke: 1}, length_limit: null}",
            [
                "stability.equilibrum: unknown key; did you mean 'equilibrium'",
                "surface.tke: expected 'flux'",
            ],
        ),
    ],
)
def test_wrong_options_say_what_is_expected(options, messages, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("case: {format: idealised, depth: 50.0, duration: 600.0, temperature: 20.0}\n")
    with pytest.raises(ConfigError) as error:
        load_run(path, [f"model.closure.options={options}"])
    for message in messages:
        assert message in str(error.value)


def test_recommended_constants_by_their_name():
    section = ClosureSection.model_validate({"name": "k_epsilon", "constants": "recommended"})
    closure = section.build()
    assert eqx.tree_equal(closure, KEpsilon.recommended())
    changed = {"name": "k_epsilon", "constants": "recommended", "parameters": {"c_eps_1": 1.5}}
    chosen = ClosureSection.model_validate(changed).build()
    assert isinstance(chosen, KEpsilon) and float(chosen.c_eps_1) == 1.5
    with error_naming(ValueError, "constants k_epsilon recomended recommended"):
        ClosureSection.model_validate({"name": "k_epsilon", "constants": "recomended"})
    with error_naming(ValueError, "constants constant recommended"):
        ClosureSection.model_validate({"name": "constant", "constants": "recommended"})
