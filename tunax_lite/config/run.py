"""A run as configured in files: model, case and times."""

import dataclasses
from pathlib import Path

from ..column.case import Case
from ..column.model import Model
from ..column.observations import Observations
from ..column.trajectory import Restart
from ..io.yaml_file import ConfigError, naming
from ..runtime.memory import check_disk, check_steps


@dataclasses.dataclass(frozen=True)
class Run:
    """Everything that `simulate` needs, and the observations of the case, if it has any.

    Args:
        model: closure and time scheme.
        case: on the grid of the configuration.
        observations: of the case.
        start: initial state for `simulate`; `None` for the start of the case.
        dt: time step [s].
        output_interval: time between saved frames [s].
        duration: length of the run [s]; `None` for the rest of the case.
        source: the configuration file, for messages.
        notes: on the case, for the user.
        diagnostics: further variables requested by the case.
        means: whether the case requests means between frames.
    """

    model: Model
    case: Case
    observations: Observations | None
    dt: float
    output_interval: float
    duration: float | None
    source: Path
    notes: tuple[str, ...] = ()
    diagnostics: tuple[str, ...] = ()
    means: bool = False
    start: Restart | None = None

    def duration_from(self, begin: float) -> float:
        """Length of a run that begins at a time [s]: as given, or to the end of the case in whole steps."""
        length = self.duration
        if length is None:
            left = self.case.duration - begin
            n_steps = int(left / self.dt * (1.0 + 1e-9))
            if n_steps < 1:
                raise ConfigError(
                    f"{self.source}: time.step: expected at most the rest of the case, {left:g} s, got "
                    f"{self.dt:g} s; choose a shorter step or set time.duration."
                )
            length = n_steps * self.dt
        with naming(self.source, "time.step"):
            check_steps(length, self.dt)
        return length

    def check_output(self, duration: float, folder: Path) -> None:
        """Raise `ConfigError` if the frames of a run need more space than the disk has."""
        # Only temperature, salinity and velocity; a file has more.
        n_bytes = 8.0 * 4 * self.case.grid.n_cells * duration / self.output_interval
        with naming(self.source, "time.output_interval"):
            check_disk(folder, n_bytes, "the frames of the run")
