"""What a configuration of this package sets about a case of GOTM."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class OutputOptions:
    """Where a run writes its files."""

    folder: str = "results"
    figures: bool = True
    variables: list[str] | None = None


@dataclasses.dataclass(frozen=True)
class GotmOptions:
    """Settings that a configuration of this package has and one of GOTM lacks.

    Args:
        precision: of the run.
        output: where the run writes its files.
        name: of the case; `None` for the name of the file, which does not suffice if one file makes several
            cases.
        salinity_anomaly: whether practical salinity is converted with the TEOS-10 anomaly of the position; a
            GOTM built without the table of anomalies uses the reference-composition ratio.
        relax_from_zero: whether a relaxation towards practical salinity, in-situ or potential temperature
            relaxes towards zero in its first step, as in GOTM.
        vertical_velocity: whether `mimic_3d.w` advects the profiles; GOTM reads it, but switches it off.
    """

    precision: str = "float64"
    output: OutputOptions = OutputOptions()
    name: str | None = None
    salinity_anomaly: bool = True
    relax_from_zero: bool = True
    vertical_velocity: bool = False
