"""`tunax-lite demo`: calibrate k-epsilon on observations shipped with the package, and run it."""

from pathlib import Path

from ..config import ConfigError
from ..io.writing import check_outputs, write_text
from .calibrate import calibrate
from .evaluate import evaluate
from .run import FIGURES, run
from .terminal import echo

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = _PACKAGE / "configs", _PACKAGE.parent / "configs"  # if installed, and in a checkout
_CONFIGS = {"calibration.yaml": "calibrations/synthetic.yaml", "run.yaml": "runs/synthetic.yaml"}


def demo(output: Path, *, overwrite: bool) -> None:
    """See `commands.demo`."""
    configs = [_copied(output / name, source, overwrite) for name, source in _CONFIGS.items()]
    parameters = output / "parameters.yaml"
    # Check now, rather than after the calibration, which takes long.
    names = ("run.nc", *(f"run_{figure}.png" for figure in FIGURES))
    check_outputs([output / name for name in names], overwrite=overwrite)
    echo(f"1. Calibrate: tunax-lite calibrate {configs[0]} --output {output}")
    calibrate(configs[0], output=output, overwrite=overwrite)
    echo(f"\n2. Run the calibrated model: tunax-lite run {configs[1]} --parameters {parameters}")
    run(configs[1], [f"output.folder={output}"], parameters=parameters, overwrite=overwrite)
    echo(f"\n3. Errors before and after: tunax-lite evaluate {configs[1]} --parameters {parameters}")
    evaluate(configs[1], [], parameters)
    echo(f"\nThe observations, and the model before and after: {output / 'profiles.png'}")
    echo(f"The calibrated run and the observations: {output / 'run_fit.png'}")


def _copied(path: Path, name: str, overwrite: bool) -> Path:
    """Copy a configuration of the package into the folder of the results, where it can be edited."""
    sources = [folder / name for folder in _FOLDERS if (folder / name).is_file()]
    if not sources:
        raise ConfigError(f"demo: expected {name} in {_FOLDERS[0]}, got none; install the package again.")
    text = sources[0].read_text(encoding="utf-8")
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        check_outputs([path], overwrite=overwrite)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return path
