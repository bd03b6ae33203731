"""Text of `tunax-lite check` that does not steer a terminal, and names in figures."""

import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from tests.cli.running import invoked
from tunax_lite.cli.terminal import printable
from tunax_lite.plotting import style

ROOT = Path(__file__).resolve().parents[2]
KATO = str(ROOT / "configs/runs/kato_phillips.yaml")


def check(*arguments, code=0):
    return invoked("check", *arguments, code=code)


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
    right.set_yticks([0, 1], ["$$", "$x_$"])
    figure.suptitle("$$ \x1b[31m")
    style.save_figure(figure, tmp_path / "a.png")
    assert figure.get_suptitle() == "$$ \x1b[31m" and left.get_title() == "$\\frac{"
    assert all(label.get_parse_math() for label in left.get_yticklabels())
    assert style.typeset("kg m-2 s-1") == "kg m⁻² s⁻¹" and style.typeset("degC") == "°C"
