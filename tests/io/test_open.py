"""Files of all formats open as one kind of dataset, which a user may change before it becomes a case."""

import re
import textwrap
from pathlib import Path

import numpy as np

from tests.errors import error_naming
from tests.io.observation_files import cf_dataset, fluxes_at, write_lesbrary
from tunax_lite.io import (
    FORMATS,
    FileFormatError,
    case_from_dataset,
    observations_from_dataset,
    open_observations,
)
from tunax_lite.io.open import Format


def test_a_changed_dataset_becomes_a_case(tmp_path):
    cf_dataset().to_netcdf(tmp_path / "a.nc")
    dataset = open_observations(tmp_path / "a.nc")
    assert dataset["temperature"].units == "degC" and np.all(np.diff(dataset["z"]) > 0.0)
    dataset["surface_stress_u"] = 2.0 * dataset["surface_stress_u"]
    case, observations = case_from_dataset(dataset)
    assert case.start_time == "2010-06-01 06:00:00" and fluxes_at(case).stress_u == 0.2
    assert observations.profiles["temperature"].shape == (4, 4)
    assert open_observations(write_lesbrary(tmp_path / "b.jld2")).attrs["case"] == "little_case"
    with error_naming(FileFormatError, "a.nc format grib"):
        open_observations(tmp_path / "a.nc", format="grib")


def test_a_mooring_keeps_the_temperature_of_its_file(tmp_path):
    (tmp_path / "m.csv").write_text("time,depth [m],temperature [degC]\n2012-06-10,1,20\n2012-06-11,1,19\n")
    dataset = open_observations(tmp_path / "m.csv")
    assert list(dataset.data_vars) == ["in_situ_temperature"]
    found = observations_from_dataset(dataset, start_time="2012-06-10", salinity=35.0)
    assert list(found.time) == [0.0, 86400.0] and found.profiles["temperature"].shape == (2, 1)


def test_datasets_of_other_sources(tmp_path, monkeypatch):
    cf_dataset().to_netcdf(tmp_path / "a.nc")
    dataset = open_observations(tmp_path / "a.nc")
    found = observations_from_dataset(dataset, start_time="2010-06-01", salinity=35.0).profiles["temperature"]
    assert np.all(found != dataset["temperature"].values)  # in-situ temperature becomes conservative
    coarse = dataset.transpose().assign_coords(time=dataset["time"].astype("M8[ns]"))
    assert case_from_dataset(coarse)[0].start_time == "2010-06-01 06:00:00"
    with error_naming(FileFormatError, "temperature"):
        case_from_dataset(dataset.drop_vars("temperature"))
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    own = Format(lambda path, names: path.endswith(".bin"), lambda path: dataset)
    monkeypatch.setitem(FORMATS, "own", own)
    assert open_observations(tmp_path / "a.bin") is dataset


def test_the_reader_of_the_guide(tmp_path, monkeypatch):
    guide = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    code = textwrap.dedent(re.findall(r"^    import numpy.*?(?=^\S)", guide, re.MULTILINE | re.DOTALL)[0])
    lines = [f"{hour} {depth} {20.0 - depth}" for hour in range(3) for depth in (5, 3, 1)]
    (tmp_path / "june.chain").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(code, names)
    FORMATS.pop("chain")
    assert names["case"].grid.n_cells == 3 and names["case"].duration == 7200.0
