"""Closures of a configuration: parts by name, settings that are not numbers, and errors that say what is."""

import equinox as eqx
import pytest
import yaml
from pydantic import ValidationError

from tests.errors import error_naming
from tests.helpers import get_leaf
from tunax_lite import closures
from tunax_lite.config import ConfigError, load_run
from tunax_lite.config.closures import ClosureSection


def build(name, options, **parameters):
    return ClosureSection(name=name, options=options, parameters=parameters).build()


CHOSEN = {
    "k_epsilon": (
        "{stability: {name: cheng, equilibrium: weak}, surface: {tke: value, breaking_waves: true}}",
        closures.KEpsilon(
            stability=closures.SecondMomentClosure.of("cheng", equilibrium="weak"),
            surface=closures.Boundary(tke="value", breaking_waves=closures.BreakingWaves()),
        ),
    ),
    "generic_length_scale": (
        "{exponents: [3.0, 1.0, -1.06], length_limit: null}",
        closures.GenericLengthScale(exponents=closures.Exponents(3.0, 1.0, -1.06), length_limit=None),
    ),
    "tke": (
        "{length_bounds: {name: within_column, half_spacing: true}, langmuir_cells: null, "
        "penetration: {name: exponential, time_step: 3600.0}, charnock_constant: null}",
        closures.TKE(
            length_bounds=closures.WithinColumn(half_spacing=True),
            langmuir_cells=None,
            penetration=closures.Penetration(time_step=3600.0),
            charnock_constant=None,
        ),
    ),
    "epbl_om4": (
        "{wind_energy: reichl_hallberg}",
        closures.EPBL.as_in_om4(wind_energy=closures.ReichlHallbergWindEnergy()),
    ),
    "mass_flux": (
        "{local: {name: one_equation, options: {length: parabolic}}}",
        closures.MassFluxConvection(local=closures.OneEquation(length=closures.Parabolic())),
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_options_choose_the_parts(name):
    options, expected = CHOSEN[name]
    assert eqx.tree_equal(build(name, yaml.safe_load(options)), expected)


def test_parameters_reach_into_chosen_parts():
    options = {"stability": "schumann_gerz", "surface": {"breaking_waves": True}}
    names = {"stability.flux_richardson_number": 0.2, "surface.breaking_waves.energy_flux_factor": 80.0}
    closure = build("k_omega", options, **names)
    for path, value in names.items():
        assert get_leaf(closure, path) == value
    with error_naming(ValidationError, "stability.flux_richardson_number KOmega"):
        build("k_omega", {}, **names)


def test_wrong_options_say_what_is_expected(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("case: {format: idealised, depth: 50.0, duration: 600.0, temperature: 20.0}\n")
    for options, parts in (
        ("{stabilty: cheng}", "options.stabilty stability"),
        ("{stability: chang}", "model.closure.options.stability chang cheng"),
        ("{stability: {equilibrium: weak}}", "stability name none"),
        ("{c_eps_1: 1.5}", "KEpsilon c_eps_1 number"),
        ("{surface: waves}", "options.surface tke length_scale breaking_waves waves"),
        ("{bottom: {breaking_waves: true}}", "model.closure.options KEpsilon waves bottom"),
        (
            "{stability: {name: cheng, equilibrum: weak}, surface: {tke: 1}, length_limit: null}",
            "stability.equilibrum equilibrium surface.tke flux value",
        ),
    ):
        with error_naming(ConfigError, parts):
            load_run(path, [f"model.closure.options={options}"])


def test_recommended_constants_by_their_name():
    given = {"name": "k_epsilon", "constants": "recommended"}
    closure = ClosureSection.model_validate(given).build()
    assert eqx.tree_equal(closure, closures.KEpsilon.recommended())
    chosen = ClosureSection.model_validate(given | {"parameters": {"c_eps_1": 1.5}}).build()
    assert isinstance(chosen, closures.KEpsilon) and float(chosen.c_eps_1) == 1.5
    with error_naming(ValueError, "constants k_epsilon recomended recommended"):
        ClosureSection.model_validate({"name": "k_epsilon", "constants": "recomended"})
    with error_naming(ValueError, "constants constant recommended"):
        ClosureSection.model_validate(given | {"name": "constant"})
