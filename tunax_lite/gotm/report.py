"""What becomes of every key of a configuration: followed, done in another way, without effect, refused."""

import dataclasses

from ..io.yaml_file import ConfigError
from .keys import KEYS
from .settings import Settings


@dataclasses.dataclass(frozen=True)
class Report:
    """Lines for the user.

    Args:
        source: the configuration file.
        n_followed: number of keys of the file that the run follows.
        differences: what is done in another way than in GOTM.
        without_effect: keys of the file that are not at their default and change nothing, with the reason.
        unsupported: keys of the file that are not supported, and at their default.
        errors: keys that change the result and cannot be followed.
        warnings: what is odd in the forcing files.
    """

    source: str
    n_followed: int
    differences: tuple[str, ...]
    without_effect: tuple[str, ...]
    unsupported: tuple[str, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, settings: Settings, warnings: list[str]) -> "Report":
        """The report after all has been read that is followed."""
        refused = {path for path, _ in settings.refusals}
        errors = [f"{settings.where(path)}: {reason}." for path, reason in settings.refusals]
        inactive: dict[tuple[str, str], list[str]] = {}
        unsupported, n_followed = [], 0
        for path, value in settings.given():
            reason = settings.reason(path)
            if settings.is_used(path):
                n_followed += path not in refused
            elif value == KEYS[path].default and reason is None:
                unsupported.append(f"{settings.line(path)}.")
            elif value != KEYS[path].default and reason is None:
                errors.append(
                    f"{settings.where(path)}: {value!r} is not supported; use the default, "
                    f"{KEYS[path].default!r}."
                )
            elif value != KEYS[path].default:
                inactive.setdefault((path.rpartition(".")[0], str(reason)), []).append(path)
        return cls(
            source=settings.source,
            n_followed=n_followed,
            differences=tuple(f"{settings.line(path)}: {text}." for path, text in settings.notes),
            without_effect=tuple(_grouped(settings, inactive)),
            unsupported=tuple(unsupported),
            errors=tuple(errors),
            warnings=tuple(warnings),
        )

    def check(self) -> None:
        """Raise `ConfigError` with all errors, if there are any."""
        if self.errors:
            raise ConfigError(
                "\n".join(self.errors)
                + "\n`--ignore-unsupported`, or `case.ignore_unsupported: true` in a configuration of the "
                "package, runs without what these settings ask for."
            )

    def lines(self) -> list[str]:
        """The report as text."""
        lines = [f"{self.source}: {self.n_followed} settings are followed"]
        for title, entries in (
            ("in another way than in GOTM", self.differences),
            ("without effect", self.without_effect),
            ("not supported, at the default", self.unsupported),
            ("odd in the files", self.warnings),
            (
                "not supported, and changes the result",
                tuple(e.removeprefix(f"{self.source}: ") for e in self.errors),
            ),
        ):
            if entries:
                lines += [f"{title}:", *(f"  {entry}" for entry in entries)]
        return lines


def _grouped(settings: Settings, inactive: dict[tuple[str, str], list[str]]) -> list[str]:
    """One line for the keys of a group that have no effect for the same reason."""
    lines = []
    for (group, reason), paths in inactive.items():
        where = settings.line(paths[0])
        if len(paths) > 1:
            names = ", ".join(path.rpartition(".")[2] for path in paths)
            where = f"{where.partition(':')[0]}: {group}: {names}"
        lines.append(f"{where}: {reason}.")
    return lines
