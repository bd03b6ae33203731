"""Files that each command will write, checked before it computes: see `io.protection`."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from ..calibration.posterior.infer import MODE_NAME, POSTERIOR_NAME
from ..calibration.results import CHECKPOINT_NAME, RESULTS
from ..io.protection import CALIBRATION, POSTERIOR, Provenance, check_outputs, mark_of, product_of_run
from ..io.runs import parts_folder


def check_run_outputs(path: Path, about: Provenance, overwrite: bool, figures: Iterable[str] = ()) -> None:
    """Of a run: its file, which is foreign if its settings differ, and figures beside it."""
    check_outputs([path], overwrite=overwrite, product=product_of_run(about))
    drawn = [path.with_name(f"{path.stem}_{name}.png") for name in figures]
    check_figures_of(path, drawn, overwrite)
    # Parts of a run are removed at its end; one of them may be the file to continue from.
    check_outputs(parts_folder(path).glob("[0-9]*.nc"), overwrite=True)


def check_figures_of(source: Path, figures: Iterable[Path], overwrite: bool) -> None:
    """Figures of a file, identified by its path relative to theirs: a folder can be moved as a whole."""
    for figure in figures:
        check_outputs([figure], overwrite=overwrite, product=f"figures of {seen_from(figure, source)}")


def seen_from(path: Path, other: Path) -> str:
    """Path of a file or folder relative to the folder of a file."""
    return Path(os.path.relpath(other, path.parent)).as_posix()


def check_calibration_outputs(folder: Path, overwrite: bool, *, figures: bool, cases: Iterable[str]) -> None:
    """Of a calibration and a cross-validation, which share a folder; `cases` are the names of the cases."""
    from ..report import FIGURES  # slow import: figures

    drawn = (*FIGURES, "series", *(f"series_{case}" for case in cases)) if figures else ()
    names = [CHECKPOINT_NAME, *RESULTS, *(f"{name}.png" for name in drawn)]
    check_folder_outputs(folder, names, [CHECKPOINT_NAME], overwrite, CALIBRATION)


def check_posterior_outputs(folder: Path, overwrite: bool, *, figures: bool) -> None:
    """Of a posterior."""
    from ..report import POSTERIOR_FIGURES

    drawn = [f"{name}.png" for name in (POSTERIOR_FIGURES if figures else ())]
    names = [MODE_NAME, POSTERIOR_NAME, "posterior.yaml", *drawn]
    check_folder_outputs(folder, names, [MODE_NAME, POSTERIOR_NAME], overwrite, POSTERIOR)


def check_comparison_outputs(folder: Path, names: Iterable[str], of: str, overwrite: bool) -> None:
    """Of a comparison: the names of its files, and a text that identifies what it compares."""
    product = f"comparison {hashlib.sha256(of.encode()).hexdigest()[:16]}"
    check_folder_outputs(folder, names, ["comparison.md"], overwrite, product)


def check_folder_outputs(
    folder: Path,
    names: Iterable[str],
    keys: Iterable[str],
    overwrite: bool,
    product: str,
) -> None:
    """Of a folder; tables and JSON carry no origin, and those beside a file that does belong to it."""
    is_ours = product in [mark_of(folder / key) for key in keys]
    paths = [folder / name for name in names]
    tables = [path for path in paths if is_ours and path.suffix in (".csv", ".json")]
    check_outputs(paths, overwrite=overwrite, product=product, also=tables)
