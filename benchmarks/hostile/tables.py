"""Text files of numbers that nobody should write: CSV, and the files of GOTM."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

from .attack import Attack, Try
from .files import reading

Change = Callable[[str], str]


def _number(text: str) -> Change:
    return lambda content: content.replace(",8.0,", f",{text},", 1)


def _hour(text: str) -> Change:
    return lambda content: content.replace("2015-03-01T02:00:00", text, 1)


WEATHER: dict[str, Change] = {
    "a number with underscores": _number("1_0"),
    "an Arabic number": _number("\u0661"),
    "a hexadecimal number": _number("0x10"),
    "a number of 1e5 digits": _number("1" * 100_000),
    "1e400": _number("1e400"),
    "infinity": _number("Infinity"),
    "a formula": _number("=1+1"),
    "a decimal comma": _number('"8,0"'),
    "an open quote": _number('"8.0'),
    "a cell of 200 kB": _number("x" * 200_000),
    "a null byte": _number("8\0"),
    "a time that goes back": _hour("2015-03-01T00:30:00"),
    "the year 0": _hour("0000-03-01T02:00:00"),
    "the year 10000": _hour("10000-03-01T02:00:00"),
    "the last second": _hour("9999-12-31T23:59:59+00:00"),
    "before the calendar": _hour("0001-01-01T00:00:00+14:00"),
    "a date of 1e4 digits": _hour("2" * 10_000),
    "no header": lambda content: content.partition("\n")[2],
    "a header alone": lambda content: content.partition("\n")[0],
    "1e4 columns": lambda content: "\n".join(line + "," * 10_000 for line in content.splitlines()),
    "two names": lambda content: content.replace("wind_v", "wind_u", 1),
    "another unit": lambda content: content.replace("[Pa]", "[hPa]", 1),
    "a unit of 1e5 characters": lambda content: content.replace("[Pa]", f"[{'a' * 100_000}]", 1),
    "commas": lambda content: "," * len(content),
    "empty lines": lambda content: "\n" * 1000,
    "comments": lambda content: "#" + content.replace("\n", "\n#"),
    "carriage returns alone": lambda content: content.replace("\n", "\r"),
    "line separators": lambda content: content.replace("\n", "\u2028"),
}  # fmt: skip
MOMENTUM: dict[str, Change] = {
    "not a number": lambda content: content.replace(" 0.1 ", " nan ", 1),
    "infinity": lambda content: content.replace(" 0.1 ", " inf ", 1),
    "1D400": lambda content: content.replace(" 0.1 ", " 1D400 ", 1),
    "an exponent alone": lambda content: content.replace(" 0.1 ", " 2¹ ", 1),
    "too few columns": lambda content: content.replace(" 0.1 0.0", "", 1),
    "the 30th of February": lambda content: content.replace("2011-03-01 02", "2011-02-30 02", 1),
    "the 25th hour": lambda content: content.replace("03-01 02:00", "03-01 25:00", 1),
    "the year 0": lambda content: content.replace("2011", "0000", 1),
    "Roman numbers": lambda content: content.replace("2011", "ⅯⅯⅪ ", 1),
    "two lines": lambda content: "\n".join(content.splitlines()[:1]) + "\n",
    "times that repeat": lambda content: content.replace("02:00:00", "01:00:00", 1),
    "1e4 columns": lambda content: content.replace(" 0.1 ", " 0.1" * 10_000 + " ", 1),
}
PROFILES: dict[str, Change] = {
    "1e9 levels": lambda content: content.replace(" 8 2", " 1000000000 2", 1),
    "1e30 levels": lambda content: content.replace(" 8 2", f" {'9' * 30} 2", 1),
    "no levels": lambda content: content.replace(" 8 2", " 0 2", 1),
    "fewer levels": lambda content: content.replace(" 8 2", " 7 2", 1),
    "a level of powers": lambda content: content.replace(" 8 2", " ⁸ 2", 1),
    "the other order": lambda content: content.replace(" 8 2", " 8 1", 1),
    "heights in the air": lambda content: content.replace("-15 ", "15 ", 1),
    "heights at infinity": lambda content: content.replace("-15 ", "-inf ", 1),
    "temperatures of stars": lambda content: content.replace(" 12\n", " 1e7\n", 1),
    "missing temperatures": lambda content: content.replace(" 12\n", " NaN\n", 1),
}
_OF_FILE = {"weather.csv": WEATHER, "momentum.dat": MOMENTUM, "tprof.dat": PROFILES}
# What is no more than an unusual way to write the same.
_HARMLESS = {"carriage returns alone", "line separators", "the last second", "the year 0", "1e4 columns"}


def crafted(chance: random.Random) -> Iterator[Attack]:
    """Lines that no instrument writes, each once."""
    for file_name, changes in _OF_FILE.items():
        for name, change in changes.items():

            def prepare(
                folder: Path, chance: random.Random, file_name=file_name, name=name, change=change
            ) -> Try:
                path = folder / file_name
                before = path.read_bytes()
                path.write_bytes(change(before.decode()).encode())
                if path.read_bytes() == before:
                    raise ValueError(f"{name} changes nothing")
                return reading(file_name, folder, chance, must_fail=name not in _HARMLESS)

            yield Attack("table", f"{file_name}: {name}", prepare)
