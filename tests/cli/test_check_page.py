"""The page of `tunax-lite check`, and text that does not steer a terminal."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.cli.running import invoked
from tunax_lite.cli.terminal import printable
from tunax_lite.plotting import style

ROOT = Path(__file__).resolve().parents[2]
KATO = str(ROOT / "configs/runs/kato_phillips.yaml")
CALIBRATION = str(ROOT / "configs/calibrations/synthetic.yaml")


def check(*arguments, code=0):
    return invoked("check", *arguments, code=code)


def row(output: str, name: str) -> list[str]:
    return next(line for line in output.splitlines() if line.startswith(name)).split()


def test_the_page_fits_the_terminal_and_holds_the_numbers(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    output = check(CALIBRATION).output
    table = output[output.index("input ") : output.index("budget")]
    assert max(map(len, table.splitlines())) <= 80
    assert row(output, "heat_flux")[3:6] == ["-150", "-150", "-150"]
    # The profiles of the synthetic file and its fluxes are of one run of this model.
    gained, added = re.findall(r"(?:gain|add) (\S+) J m-2", output)
    assert float(gained) == pytest.approx(float(added), rel=1e-3) == pytest.approx(-150.0 * 172800.0)


def test_values_are_shown_as_they_are_converted():
    flux = "case.forcing.heat_flux={constant: 1.0, unit: kW m-2, factor: 0.1, sign: -1}"
    output = check(KATO, "--set", flux).output
    assert row(output, "heat_flux")[3:6] == ["-100", "-100", "-100"]
    assert output.endswith("fine\n")


def test_control_characters_in_names_are_shown_not_obeyed(tmp_path):
    name = "a\x1b[31mb\r\x07"
    assert printable(f"{name}\n\té") == "a\\x1b[31mb\\r\\x07\n\té"
    output = check(KATO, "--set", f"case.name={json.dumps(name)}").output
    assert "a\\x1b[31mb" in output and "\x1b" not in output and "\x07" not in output


def test_names_are_no_mathematics(tmp_path):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.plot([1.0, 2.0], [1e-7, 1e-2], label="$$")
    left.set_yscale("log")
    left.set_title("$\\frac{")
    right.imshow(np.zeros((2, 2)))
    right.set_yticks([0, 1], ["$$", "\x1b$x_$"])
    figure.suptitle("$$ \x1b[31m")
    style.save_figure(figure, tmp_path / "a.png")
    assert figure.get_suptitle() == "$$ \\x1b[31m" and left.get_title() == "$\\frac{"
    assert all(label.get_parse_math() for label in left.get_yticklabels())
    assert style.typeset("kg m-2 s-1") == "kg m⁻² s⁻¹" and style.typeset("degC") == "°C"
