"""Times of records: calendars, years that repeat, windows of a constant number of records, gaps."""

import datetime

import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming
from tunax_lite.extensions.maps.calendars import RecordTimes, read_times
from tunax_lite.extensions.maps.fields import FileField
from tunax_lite.extensions.maps.sections import Gridded
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.variables import array

EPOCH = datetime.datetime(2003, 3, 1)
DAY = 86400.0


def times(values, units, repeats=None, **attributes) -> RecordTimes:
    own = {"units": units, **attributes}
    one = array("file.nc", "time", ("time",), np.asarray(values, dtype=float), own)
    return read_times([one], EPOCH, 3 * 365 * DAY, repeats)


def dates(found: RecordTimes, numbers) -> list[str]:
    first = int(np.searchsorted(found.seconds, -59 * DAY)) if found.repeats else 0  # of the year
    seconds = found.seconds[first + np.asarray(numbers)]
    return [(EPOCH + datetime.timedelta(seconds=float(each))).isoformat(timespec="hours") for each in seconds]


FERRET = 366.0 + 730.485 * np.arange(12)


def test_climatological_months_repeat_and_stay_in_place():
    months, modulo, bounds = np.arange(12), {"modulo": " "}, {"calendar": "noleap", "climatology": "bounds"}
    for values, units, attributes in (
        (FERRET, "hour since 0000-01-01 00:00:00", modulo),
        (months + 0.5, "months since 0001-01-01", modulo | {"calendar": "NOLEAP"}),
        (30.0 * months + 15.0, "days since 0001-01-01", {"calendar": "360_day"}),
        (30.4 * months + 15.0, "days since 1990-01-01", bounds),
    ):
        found = times(values, units, **attributes)  # pyright: ignore[reportArgumentType]
        assert found.repeats
        january = EPOCH + datetime.timedelta(seconds=float(found.seconds[found.records == 0][0]))
        assert (january.month, january.day) in ((1, 15), (1, 16))
        moments = dates(found, np.arange(-12, 36))
        assert {moment[:4] for moment in moments[:12]} == {"2002"}
        assert {moment[:4] for moment in moments[24:36]} == {"2004"}
        assert len({moment[:7] for moment in moments}) == 48  # one in each month


def test_a_year_of_dates_repeats_where_it_is_said():
    day = np.arange(365) + 0.5
    assert not times(day, "days since 1982-01-01", calendar="julian").repeats
    found = times(day, "days since 1982-01-01", repeats=True, calendar="julian")
    assert dates(found, [0, 364, 365])[:2] == ["2003-01-01T12", "2003-12-31T12"]
    # Records from July to June: in the order of the year.
    found = times(30.5 * np.arange(12), "days since 1999-07-02", repeats=True)
    assert found.records[0] == 6 and np.all(np.diff(found.seconds) > 0.0)


def test_series_go_by_their_dates():
    noleap = times([58.0, 59.0, 60.0], "days since 2004-01-01", calendar="noleap")
    assert dates(noleap, [0, 1, 2]) == ["2004-02-28T00", "2004-03-01T00", "2004-03-02T00"]


def test_times_that_cannot_be_used_are_refused():
    days, since, of_2000 = np.arange(30.0), "days since 2003-02-20", "days since 2000-01-01"
    for values, units, options, parts in (
        (np.delete(FERRET, 4), "hour since 0000-01-01", {}, "time 04-17 3 4"),
        (np.delete(days, 7), since, {}, "time 2003-02-26T00:00 2003-02-28T00:00"),
        ([0.0, 1.0, 1.0], since, {}, "time 2003-02-21T00:00 2 1"),
        ([0.0, 1.0], "days", {}, "time days standard"),
        ([0.0, 1.0], "fortnights since 2000-01-01", {}, "time fortnights"),
        ([0.0, 1.0], of_2000, {"calendar": "lunar"}, "time lunar"),
        ([0.0, 59.0], of_2000, {"calendar": "360_day"}, "time 360_day convert_calendar"),
        ([0.0, np.nan], of_2000, {}, "time NaN"),
        (np.arange(0.0, 410.0, 10.0) * 1.0037, "days since 2003-03-02", {"repeats": True}, "time 1.1"),
    ):
        with error_naming(FileFormatError, f"file.nc {parts}"):
            times(values, units, **options)  # pyright: ignore[reportArgumentType]
    found = times([0.0, 1.0, 2.0], "days since 2003-03-02")
    with error_naming(FileFormatError, "time 2003-03-01T00:00 2003-03-02T00:00 2003-03-04T00:00 repeats"):
        found.window(0.0, DAY)


@pytest.mark.parametrize(("method", "hour"), [("mean", 12), ("point", 0)])
def test_means_are_placed_at_the_middle_of_their_bounds(method, hour):
    day = np.arange(5.0)
    attributes = {"units": "days since 2003-03-01", "bounds": "time_bnds"}
    dataset = xr.Dataset(
        {
            "taux": (("time", "lat", "lon"), np.zeros((5, 1, 1)), {"cell_methods": f"time: {method}"}),
            "time_bnds": (("time", "nv"), np.stack([day, day + 1.0], axis=1)),
        },
        {
            "time": ("time", day, attributes),
            "lat": ("lat", [50.0], {"units": "degrees_north"}),
            "lon": ("lon", [-145.0], {"units": "degrees_east"}),
        },
    )
    found = FileField("stress_u", Gridded(variable="taux", unit="N m-2"), [dataset], EPOCH, DAY).times
    assert found is not None and dates(found, [0, 4]) == [f"2003-03-0{n}T{hour:02}" for n in (1, 5)]
