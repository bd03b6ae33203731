"""Files of parameters go only into the closure on which they were calibrated."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml

import tunax_lite as tl
from tests.calibration.twins import calibrate_cheap
from tests.errors import error_naming, missing_from
from tunax_lite.calibration import read_parameters, with_parameters, write_parameters
from tunax_lite.calibration.parameters import Base
from tunax_lite.closures import KEpsilon, MellorYamada, NeuralCorrection, PacanowskiPhilander
from tunax_lite.config import load_calibration

ROOT = Path(__file__).parents[2]

CALIBRATED = {"c_eps_1": 1.5, "length_limit": 0.4}


def _file(path, closure, values, **changes):
    """A file of parameters, as far as it is about the closure."""
    base = Base.of(closure, values)
    content = {"closure": base.closure, "base": {**base.content, **changes}}
    path.write_text(yaml.safe_dump({**content, "parameters": dict(values)}))
    return path


@pytest.fixture
def of_recommended(tmp_path):
    return _file(tmp_path / "parameters.yaml", KEpsilon.recommended(), CALIBRATED)


def test_another_base_is_refused_by_both_names_and_what_differs(of_recommended):
    with pytest.raises(ValueError) as caught:
        with_parameters(KEpsilon(), read_parameters(of_recommended))
    said = str(caught.value)
    assert not missing_from(said, "k_epsilon_recommended k_epsilon")
    # `recommended.toml` and the default.
    assert "eddy_slope is 0.25 there, not given here" in said and "lagrangian_stress is True there" in said
    assert "Choose `k_epsilon_recommended` for `model.closure`" in said


def test_values_go_into_their_own_base_whatever_the_calibrated_numbers_were(of_recommended):
    values = read_parameters(of_recommended, "KEpsilon")
    assert values == CALIBRATED  # a mapping like any other
    for start in ({}, {"c_eps_1": 1.44, "length_limit": None}):
        closure = with_parameters(KEpsilon.recommended(**start), values)
        assert isinstance(closure, KEpsilon)
        assert closure.c_eps_1 == 1.5 and closure.length_limit == 0.4
    in_single = tl.in_precision(KEpsilon.recommended(), "float32")
    assert with_parameters(in_single, values)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (KEpsilon.recommended(sigma_k=1.1), "sigma_k 1.0 1.1"),
        (KEpsilon.recommended(imposed_von_karman=None), "imposed_von_karman 0.4"),
        (KEpsilon.recommended(long_steps=True), "long_steps False True"),
        (
            KEpsilon.recommended(stability=tl.SecondMomentClosure(equilibrium="weak")),
            "stability.equilibrium quasi weak",
        ),
    ],
)
def test_constants_and_options_belong_to_the_base(of_recommended, other, named):
    with error_naming(ValueError, named):
        with_parameters(other, read_parameters(of_recommended))


def test_bases_without_a_name_and_of_another_version(tmp_path):
    own = KEpsilon(sigma_k=1.2)
    assert Base.of(own, ["sigma_k"]).name == "k_epsilon"
    assert Base.of(own, []).name == "k_epsilon with its own options and constants"
    assert Base.of(MellorYamada.harcourt(), []).name == "mellor_yamada_harcourt"
    path = _file(tmp_path / "old.yaml", own, CALIBRATED, version="0.1.0")
    with error_naming(ValueError, "0.1.0 k_epsilon sigma_k 1.2 1.0"):
        with_parameters(KEpsilon(), read_parameters(path))


def test_numbers_of_a_vector_that_were_not_free_do_not_hide_a_difference(tmp_path):
    network = NeuralCorrection(physical=PacanowskiPhilander(), width=1, depth=1)
    path = _file(tmp_path / "p.yaml", network, {"alpha": 1.0})
    other = dataclasses.replace(network, weights=network.weights + 1e-3)
    with error_naming(ValueError, "weights"):
        with_parameters(other, read_parameters(path))


def test_a_file_without_base_holds_beside_any_constants(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("closure: KEpsilon\nparameters: {c_eps_1: 1.5}\n")
    assert float(with_parameters(KEpsilon.recommended(), read_parameters(path)).c_eps_1) == 1.5  # pyright: ignore
    path.write_text("closure: KEpsilon\nbase: {name: 1}\nparameters: {c_eps_1: 1.5}\n")
    with error_naming(ValueError, "own.yaml base name version options constants"):
        read_parameters(path)


def test_a_calibration_writes_its_base(tmp_path):
    result = calibrate_cheap(None, "levenberg_marquardt", 2)
    write_parameters(tmp_path / "p.yaml", result)
    values = read_parameters(tmp_path / "p.yaml")
    assert values.base is not None and values.base.name == "pacanowski_philander"
    assert not set(values.base.constants) & set(result.best)
    free, fixed = next(iter(result.best)), next(iter(values.base.constants))
    number = float(getattr(PacanowskiPhilander(), fixed))
    assert with_parameters(dataclasses.replace(PacanowskiPhilander(), **{free: result.best[free]}), values)
    with error_naming(ValueError, f"pacanowski_philander {fixed}"):
        other = dataclasses.replace(PacanowskiPhilander(), **{fixed: np.nextafter(number, 1.0) * 1.01})
        with_parameters(other, values)


def test_the_name_of_a_closure_is_a_base(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("closure: KEpsilon\nbase: k_epsilon_recommended\nparameters: {c_eps_1: 1.5}\n")
    assert with_parameters(KEpsilon.recommended(), read_parameters(path))
    with error_naming(ValueError, "k_epsilon_recommended k_epsilon"):
        with_parameters(KEpsilon(), read_parameters(path))
    path.write_text("closure: KEpsilon\nbase: k_epsilom\nparameters: {c_eps_1: 1.5}\n")
    with error_naming(ValueError, "own.yaml base"):
        read_parameters(path)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "configs/parameters").glob("*.yaml")), ids=lambda path: path.stem
)
def test_shipped_parameters_go_into_the_closure_of_their_calibration(path):
    calibration = ROOT / "configs/calibrations" / path.name
    values = read_parameters(path)
    if not calibration.exists():
        pytest.skip(f"{path.name} is of a calibration without configuration")
    assert with_parameters(load_calibration(calibration).config.model.closure.build(), values)
