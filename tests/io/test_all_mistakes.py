"""All mistakes of an input in one message, a line each, as many as a person can read."""

import pytest

from tunax_lite.io import read_weather
from tunax_lite.io.dated_text import Column, Period, SeriesReader
from tunax_lite.io.errors import ConfigError, FileFormatError, all_of
from tunax_lite.io.table import read_table

START = "2010-01-01T00:00:00"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def lines_of(call, kind: type[Exception] = FileFormatError) -> list[str]:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value).splitlines()


def test_every_wrong_line_of_a_table(tmp_path):
    rows = ["2010-01-01,1,2", "yesterday,1,2", "2010-01-03,x,2", "2010-01-04,1", "2010-01-05,1,y"]
    path = write(tmp_path / "a.csv", "time,a,b\n" + "\n".join(rows))
    found = lines_of(lambda: read_table(path))
    assert [line.split(": ")[1:3] for line in found] == [
        ["line 5", "expected 3 values, as in the line of names, got 2; complete the line."],
        ["line 3", "time"],
        ["line 4", "a"],
        ["line 6", "b"],
    ]
    assert all(line.startswith(str(path)) for line in found)


def test_many_lines_with_one_mistake_are_counted(tmp_path):
    rows = "".join(f"2010-01-{day:02},{'-' if day > 5 else 1}\n" for day in range(1, 21))
    found = lines_of(lambda: read_table(write(tmp_path / "a.csv", f"time,a\n{rows}")))
    assert len(found) == 3  # the days 6, 7 and 8
    assert "line 7" in found[0] and "line 9" in found[2] and "12 more lines" in found[2]


def test_every_missing_or_impossible_variable_of_the_weather(tmp_path):
    names = "wind_u [m s-1],wind_v [m s-1],air_temperature [bananas],air_pressure [Pa],relative_humidity [%]"
    rows = "".join(f"2010-01-0{day},1,1,10,{pressure},80\n" for day, pressure in ((1, 1e5), (2, 1013.0)))
    path = write(tmp_path / "w.csv", f"time,{names}\n{rows}")
    text = "\n".join(lines_of(lambda: read_weather(path, start_time=START)))
    for words in ("bananas", "1013", "shortwave", "longwave"):
        assert words in text
    assert len(text.splitlines()) == 4


def test_every_wrong_line_of_text_with_dates(tmp_path):
    rows = [
        "2010-01-01 00:00:00 5",
        "2010-01-02 00:00:00 500",
        "2010-13-03 00:00:00 5",
        "2010-01-04 00:00:00 5",
    ]
    path = write(tmp_path / "t.dat", "\n".join(rows) + "\n2010-15-05 00:00:00 5\n")
    period = Period(1262304000, 86400.0)  # 2010-01-01
    column = Column(path, 1, "air_temperature", "run.yaml: line 3")
    found = lines_of(lambda: SeriesReader(period).read(column))
    assert [line.split(": ")[1] for line in found] == ["line 3", "line 5"]
    rows = ["2010-01-01 00:00:00 nan", "2010-01-01 06:00:00 -300", "2010-01-03 00:00:00 5"]
    path = write(tmp_path / "v.dat", "\n".join(rows))
    found = lines_of(lambda: SeriesReader(period).read(Column(path, 1, "air_temperature", "x")))
    assert "line 1" in found[0] and "finite" in found[0] and "line 2" in found[1] and "-300" in found[1]


def test_several_readings():
    def fail(error):
        raise error

    assert all_of([lambda: 1, lambda: 2]) == [1, 2]
    config, other = ConfigError("a: expected b, got c."), FileFormatError("f", "k", "e", "g", "do it")
    assert lines_of(lambda: all_of([lambda: fail(config)]), ConfigError) == [str(config)]
    assert lines_of(lambda: all_of([lambda: fail(config), lambda: fail(other)])) == [str(config), str(other)]
    many = [lambda i=i: fail(ConfigError(f"problem {i}")) for i in range(30)]
    assert lines_of(lambda: all_of(many), ConfigError)[-1] == "... and 11 more mistakes."
    with pytest.raises(ZeroDivisionError):  # what is no mistake of the input is not collected
        all_of([lambda: fail(config), lambda: 1 / 0])
