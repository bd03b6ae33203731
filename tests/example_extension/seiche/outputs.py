"""Figures of a folder with basins."""

from matplotlib.figure import Figure

FOLDERS = (
    (
        "a folder of basins",
        lambda path: (path / "basin.txt").is_file(),
        lambda path, points: {"depth": Figure()},
    ),
)
