"""Networks are parameters: freed by name, regularised, stored with their closure, and loaded."""

import dataclasses
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.calibration.twins import make_case, observe
from tests.cli.running import RUN, configuration, invoked
from tests.errors import error_naming, missing_from
from tests.helpers import ALL_CLOSURES
from tests.networks import Learned
from tunax_lite import calibration as cal
from tunax_lite.calibration import FreeParameter, FreeParameters, with_parameters
from tunax_lite.config import build_run, load_run
from tunax_lite.io import read_trajectory

N_WEIGHTS = 2 * 4 + 4 + 4 + 1  # of two layers: 2 inputs, 4 units, 1 output
FREE = FreeParameters((FreeParameter("net.*"),))


def test_paths_of_a_network_are_its_places_and_its_name_is_all_of_them():
    paths = FREE.resolve(Learned()).paths
    assert len(paths) == N_WEIGHTS
    assert paths[0] == "net.layers.0.weight[0]" and paths[-1] == "net.layers.1.bias[0]"
    one = FreeParameters((FreeParameter("net.layers.0.weight[3]", start=2.5),)).resolve(Learned())
    changed = one.to_pytree(Learned(), jnp.array([2.5]))
    # The fourth number in C order, of rows of two.
    assert isinstance(changed, Learned) and changed.net is not None
    assert float(changed.net.layers[0].weight[1, 1]) == 2.5
    part = FreeParameters((FreeParameter("stability.*"),)).resolve(tl.KEpsilon())
    assert "stability.cc1" in part.paths and "stability.cc5" not in part.paths  # which has no effect
    with error_naming(ValueError, "net net.* net.layers.0.weight"):
        FreeParameters((FreeParameter("net"),)).resolve(Learned())


@pytest.mark.long
def test_a_network_is_calibrated_and_its_file_goes_into_its_closure_alone(tmp_path):
    case, method = make_case(0.1, -50.0), cal.LevenbergMarquardt()
    observed = observe(tl.Model(Learned(seed=5)), case, dt=600.0, interval=3600.0)
    fit = tl.Model(Learned()), FREE, [cal.Target(case, observed, dt=600.0)]
    result = cal.calibrate(*fit, method, 8)
    cal.write_results(result, tmp_path)
    assert result.best_loss < 0.5 * result.history.loss[0]
    values = cal.read_parameters(tmp_path / "parameters.yaml", "Learned")
    assert eqx.tree_equal(with_parameters(Learned(), values), result.closure)
    for other, named in ((Learned(width=5), "width 4 5"), (Learned(largest=0.03), "largest 0.02 0.03")):
        with error_naming(ValueError, named):
            with_parameters(other, values)
    with error_naming(ValueError, "net.layers.0.bias ensemble vector_parameter"):
        cal.calibrate(*fit, cal.EnsembleKalman(noise=0.01, n_members=18), 2)


@pytest.mark.long
def test_every_closure_is_stored_and_loaded_bit_by_bit(tmp_path):
    variants = Learned(seed=4, width=3), tl.KEpsilon.recommended(c_eps_1=1.5), tl.MellorYamada.harcourt()
    inner = tl.KOmega(stability=tl.SecondMomentClosure(ctt=0.8))
    for closure in (*ALL_CLOSURES, *variants, tl.NeuralCorrection(physical=inner, width=3, seed=2)):
        tl.save_closure(tmp_path / "closure.yaml", closure)
        assert eqx.tree_equal(tl.load_closure(tmp_path / "closure.yaml"), closure)


def test_a_stored_closure_goes_into_one_with_its_settings(tmp_path):
    path, closure = tmp_path / "net.yaml", Learned(seed=4, largest=0.05)
    tl.save_closure(path, closure)
    assert eqx.tree_equal(tl.load_closure(path, like=Learned(seed=4)), closure)
    single = tl.load_closure(path, like=tl.in_precision(Learned(seed=4), "float32"))
    assert {leaf.dtype for leaf in jax.tree.leaves(eqx.filter(single, eqx.is_array))} == {np.dtype("float32")}
    for like, named in ((Learned(width=5), "width 4 5"), (tl.KEpsilon(), "net.yaml Learned KEpsilon like")):
        with error_naming(ValueError, named):
            tl.load_closure(path, like=like)
    without_bias = eqx.tree_at(lambda c: c.net.layers[0].bias, closure, jnp.full(4, jnp.nan))
    for wrong, named in (
        (eqx.tree_at(lambda c: c.largest, closure, jnp.asarray(-1.0)), "largest -1"),
        (dataclasses.replace(closure, largest=jnp.array([0.1, 0.2])), "largest (2,)"),
        (without_bias, "net.layers.0.bias nan"),
    ):
        with error_naming(ValueError, named):
            tl.save_closure(path, wrong)
    assert eqx.tree_equal(tl.load_closure(path), closure)  # what was there stayed
    with error_naming(ValueError, "net.nc .yaml"):
        tl.save_closure(tmp_path / "net.nc", closure)
    (tmp_path / "o.yaml").write_text("x: 1.0")
    with error_naming(ValueError, "o.yaml parameters save_closure"):
        tl.load_closure(tmp_path / "o.yaml")


def test_a_file_does_not_import_code(tmp_path, monkeypatch):
    path = tmp_path / "net.yaml"
    tl.save_closure(path, Learned())
    monkeypatch.delitem(sys.modules, "tests.networks")
    with error_naming(ValueError, "net.yaml tests.networks:Learned import"):
        tl.load_closure(path)
    assert "tests.networks" not in sys.modules


def test_the_command_line_runs_a_stored_network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    closure = dataclasses.replace(Learned(seed=4), net=Learned(seed=7).net)  # as if trained
    tl.save_closure(tmp_path / "net.yaml", closure)
    model = {"closure": {"name": "tests.networks:Learned", "options": {"seed": 4}}}
    case, time = RUN["case"] | {"duration": 3600.0}, {"dt": 600.0, "output_interval": 3600.0}
    configuration(tmp_path / "run.yaml", RUN, case=case, model=model, time=time)
    run = ("run", "run.yaml", "--parameters", "net.yaml", "--output")
    invoked(*run, "run.nc")
    setup = build_run(load_run(tmp_path / "run.yaml"))
    expected = tl.simulate(tl.Model(closure), setup.case, dt=600.0, output_interval=3600.0)
    found = read_trajectory(tmp_path / "run.nc")
    np.testing.assert_array_equal(found.state.temperature, expected.state.temperature)
    refused = invoked(*run, "o.nc", "--set", "model.closure.options.seed=5", code=2)
    assert not missing_from(refused.output, "seed 4 5") and not (tmp_path / "o.nc").exists()
    shown = invoked("describe", "tests.networks:Learned", env={"COLUMNS": "200"}).output
    assert not missing_from(shown, "largest 0.0001 1 seed")
    assert "Leaned" in invoked("describe", "tests.networks:Leaned", code=2).output
