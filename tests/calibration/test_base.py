"""Files of parameters go only into the closure on which they were calibrated."""

import dataclasses
from pathlib import Path

import pytest
import yaml

import tunax_lite as tl
from tests.calibration.twins import calibrate_cheap
from tests.errors import error_naming
from tunax_lite.calibration import read_parameters, with_parameters, write_parameters
from tunax_lite.calibration.parameters import Base
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
    return _file(tmp_path / "parameters.yaml", tl.KEpsilon.recommended(), CALIBRATED)


def test_another_base_is_refused_by_both_names_and_what_differs(of_recommended):
    values = read_parameters(of_recommended)
    with error_naming(ValueError, "k_epsilon_recommended k_epsilon eddy_slope 0.25 lagrangian_stress True"):
        with_parameters(tl.KEpsilon(), values)  # see `recommended.toml`
    for other, named in (
        (tl.KEpsilon.recommended(sigma_k=1.1), "sigma_k 1.0 1.1"),
        (tl.KEpsilon.recommended(imposed_von_karman=None), "imposed_von_karman 0.4"),
        (tl.KEpsilon.recommended(long_steps=True), "long_steps False True"),
        (
            tl.KEpsilon.recommended(stability=tl.SecondMomentClosure(equilibrium="weak")),
            "stability.equilibrium quasi weak",
        ),
    ):
        with error_naming(ValueError, named):
            with_parameters(other, values)


def test_values_go_into_their_own_base_whatever_the_calibrated_numbers_were(of_recommended):
    values = read_parameters(of_recommended, "KEpsilon")
    assert values == CALIBRATED  # a mapping like any other
    closure = with_parameters(tl.KEpsilon.recommended(c_eps_1=1.44, length_limit=None), values)
    assert isinstance(closure, tl.KEpsilon)
    assert closure.c_eps_1 == 1.5 and closure.length_limit == 0.4
    assert with_parameters(tl.in_precision(tl.KEpsilon.recommended(), "float32"), values)


def test_bases_without_a_name_and_of_another_version(tmp_path):
    own = tl.KEpsilon(sigma_k=1.2)
    assert Base.of(own, ["sigma_k"]).name == "k_epsilon"
    assert Base.of(own, []).name.startswith("k_epsilon with ")
    assert Base.of(tl.MellorYamada.harcourt(), []).name == "mellor_yamada_harcourt"
    path = _file(tmp_path / "old.yaml", own, CALIBRATED, version="0.1.0")
    with error_naming(ValueError, "0.1.0 k_epsilon sigma_k 1.2 1.0"):
        with_parameters(tl.KEpsilon(), read_parameters(path))
    # Numbers of a vector that were not free do not hide a difference.
    network = tl.NeuralCorrection(physical=tl.PacanowskiPhilander(), width=1, depth=1)
    path = _file(tmp_path / "p.yaml", network, {"alpha": 1.0})
    with error_naming(ValueError, "weights"):
        with_parameters(dataclasses.replace(network, weights=network.weights + 1e-3), read_parameters(path))


def test_a_file_without_base_goes_into_any_constants_and_a_name_is_a_base(tmp_path):
    path = tmp_path / "own.yaml"

    def values(base):
        path.write_text(f"closure: KEpsilon\n{base}parameters: {{c_eps_1: 1.5}}\n")
        return read_parameters(path)

    for base in ("", "base: k_epsilon_recommended\n"):
        closure = with_parameters(tl.KEpsilon.recommended(), values(base))
        assert float(closure.c_eps_1) == 1.5  # pyright: ignore[reportAttributeAccessIssue]
    with error_naming(ValueError, "k_epsilon_recommended k_epsilon"):
        with_parameters(tl.KEpsilon(), values("base: k_epsilon_recommended\n"))
    with error_naming(ValueError, "own.yaml base name version options constants"):
        values("base: {name: 1}\n")
    with error_naming(ValueError, "own.yaml base"):
        values("base: k_epsilom\n")


@pytest.mark.long
def test_a_calibration_writes_its_base(tmp_path):
    result = calibrate_cheap(None, "levenberg_marquardt", 1)
    write_parameters(tmp_path / "p.yaml", result)
    values = read_parameters(tmp_path / "p.yaml")
    assert values.base is not None and values.base.name == "pacanowski_philander"
    assert not set(values.base.constants) & set(result.best)
    free, fixed = next(iter(result.best)), next(iter(values.base.constants))
    number = float(getattr(tl.PacanowskiPhilander(), fixed))
    assert with_parameters(dataclasses.replace(tl.PacanowskiPhilander(), **{free: result.best[free]}), values)
    with error_naming(ValueError, f"pacanowski_philander {fixed}"):
        with_parameters(dataclasses.replace(tl.PacanowskiPhilander(), **{fixed: 1.01 * number}), values)


@pytest.mark.long
def test_shipped_parameters_go_into_the_closure_of_their_calibration():
    n_found = 0
    for path in (ROOT / "configs/parameters").glob("*.yaml"):
        calibration = ROOT / "configs/calibrations" / path.name
        if calibration.exists():
            closure = load_calibration(calibration).config.model.closure.build()
            assert with_parameters(closure, read_parameters(path)), path.name
            n_found += 1
    assert n_found > 5
