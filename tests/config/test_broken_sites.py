"""Every broken key of a case of the format site, and of its files, ends in its own message."""

import textwrap

import pytest

from tests.errors import error_naming
from tunax_lite.config import ConfigError, build_run, load_run
from tunax_lite.io import FileFormatError

GOOD = """
case:
  format: site
  latitude: 48.0
  longitude: -9.0
  start_time: 2015-03-01T00:00:00
  duration: 86400.0
  depth: 150.0
  observations: {format: oceansites, paths: "synthetic:station_profiles"}
  weather: {format: table, paths: "synthetic:station_weather"}
  air_sea: {longwave: clark, shortwave: clear_sky}
grid: {kind: uniform, n_cells: 10}
time: {step: 3600.0, output_interval: 86400.0}
"""
DRIFT = "case.interior.stokes_drift"
FRICTION = "case.interior.bottom_friction"
SLOPE = "case.interior.pressure_gradient={kind: surface_slope, x: "

# name, setting of a good run, what the message holds beside the file and where it was set
SETTINGS = [
    (
        "flux of a tracer that is none",
        "case={format: site, fluxes: {stress_u: 0, tracer_fluxes: {dey: 1.0}}, tracers: {dye: {surface: 0}}, "
        "latitude: 0, longitude: 0, start_time: 2015-03-01, name: a, depth: 9, duration: 60}",
        ["case", "tracers of the case", "`dey`", "dye"],
    ),
    ("no latitude", "case={format: site}", ["case.latitude", "[degrees north]", "add"]),
    ("longitude", "case.longitude=400", ["case.longitude", "360", "400"]),
    ("start", "case.start_time=June 2015", ["case.start_time", "ISO 8601", "'June 2015'"]),
    ("duration", "case.duration=0", ["case.duration", "greater than 0", "0"]),
    ("depth", "case.depth=deep", ["case.depth", "number", "[m]", "'deep'"]),
    ("unknown key", "case.wether={}", ["case.wether", "unknown key", "'weather'"]),
    ("no weather", "case.weather=null", ["case", "`weather` or `fluxes`", "neither", "give one"]),
    ("two forcings", "case.fluxes={heat_flux: 1}", ["case", "`weather` or `fluxes`", "both"]),
    ("nothing to start from", "case.observations=null", ["case", "`temperature`", "add one"]),
    ("kelvin", "case.temperature=290.0", ["case", "-5 to 60 [degC]", "290", "check its unit"]),
    ("salinity", "case.salinity=1025", ["case", "salinity from 0 to 60 [g kg-1]", "1025"]),
    ("current in cm s-1", "case.u=35", ["case", "u from -20 to 20 [m s-1]", "35"]),
    ("native grid", "grid={kind: native}", ["grid", "uniform", "site", "native"]),
    ("another depth", "grid={kind: faces, z_face: [-9, -5, -2, 0]}", ["grid", "150 m", "9 m"]),
    ("format of weather", "case.weather.format=era6", ["case.weather", "'era5'", "'era6'"]),
    ("no paths", "case.weather={format: era5}", ["case.weather.paths", "add"]),
    ("number for a path", "case.weather.paths=7", ["case.weather.paths", "list", "7"]),
    ("era5 interpolation", "case.weather={format: era5, paths: a.nc, interpolation: cubic}", ["'bilinear'"]),
    ("name of a series", "case.weather.variables={wind: u}", ["case.weather", "wind_u", "'wind'"]),
    ("unit of a series", "case.weather.units={wind: m}", ["case.weather", "units", "'wind'"]),
    ("measure", "case.weather.humidity_measure=absolute", ["humidity_measure", "'dew_point'", "'absolute'"]),
    ("gap of weather", "case.weather.longest_gap=-1", ["longest_gap", "greater than 0", "-1"]),
    (
        "constant weather in hPa",
        "case.weather={format: constant, wind_u: 1, air_temperature: 9, humidity: 80, air_pressure: 1013}",
        ["case.weather.air_pressure", "50000", "[Pa]", "1013"],
    ),
    (
        "constant weather in kelvin",
        "case.weather={format: constant, wind_u: 1, air_temperature: 283, humidity: 80}",
        ["case.weather.air_temperature", "60", "[degC]", "283"],
    ),
    (
        "humidity as a fraction",
        "case.weather={format: constant, wind_u: 1, air_temperature: 9, humidity: 0.8, cloud_cover: 0.5}",
        ["case.weather", "relative humidity in %", "0.8", "100"],
    ),
    (
        "clouds in per cent",
        "case.weather={format: constant, wind_u: 1, air_temperature: 9, humidity: 80, cloud_cover: 50}",
        ["case.weather.cloud_cover", "1", "50"],
    ),
    ("bulk", "case.air_sea.bulk=coar36", ["case.air_sea.bulk", "'coare36'", "'coar36'"]),
    ("bulk key", "case.air_sea.bulk={name: kondo, air_height: 4}", ["case.air_sea.bulk", "unknown key"]),
    ("wind height", "case.air_sea.bulk={name: fairall, wind_height: 0}", ["wind_height", "0.1", "0"]),
    ("longwave", "case.air_sea.longwave=clarke", ["case.air_sea.longwave", "'clark'", "'clarke'"]),
    ("shortwave", "case.air_sea.shortwave=clear", ["case.air_sea.shortwave", "'clear_sky'", "'clear'"]),
    (
        "transmissivity",
        "case.air_sea.shortwave={name: clear_sky, transmissivity: 7}",
        ["shortwave.transmissivity", "1", "7"],
    ),
    ("albedo in per cent", "case.air_sea.albedo=6", ["case.air_sea.albedo", "1", "6"]),
    ("albedo", "case.air_sea.albedo=paine", ["case.air_sea.albedo", "'payne'", "'paine'"]),
    (
        "albedo of net shortwave radiation",
        "case.air_sea={shortwave: net, albedo: payne}",
        ["air_sea", "no albedo"],
    ),
    ("offset", "case.air_sea.offsets={wind: 1}", ["air_sea.offsets.wind", "unknown key", "'wind_v'"]),
    ("switch", "case.air_sea.rain_heat=1", ["air_sea.rain_heat", "boolean", "1"]),
    (
        "air_sea without weather",
        "case={format: site, fluxes: {}, air_sea: {}, latitude: 0, longitude: 0, start_time: 2015-03-01,"
        " duration: 9, depth: 9, temperature: 9, salinity: 35}",
        ["case", "`air_sea` together with `weather`", "remove"],
    ),
    ("no shortwave radiation in the table", "case.air_sea.shortwave=downward", ["shortwave", "only wind_u"]),
    ("rain without rain", "case.weather.variables={precipitation: tp}", ["precipitation", "'tp'"]),
    ("density", "case.equation_of_state=teos11", ["equation_of_state", "'teos10'", "'teos11'"]),
    (
        "tangent and numbers",
        "case.equation_of_state={name: linear, thermal_expansion: 2e-4,"
        " tangent_to_teos10: {temperature: 10, salinity: 35}}",
        ["equation_of_state", "tangent_to_teos10", "thermal_expansion", "remove"],
    ),
    ("cabbeling", "case.equation_of_state={name: simplified, cross_term: 5}", ["cross_term", "1", "5"]),
    ("water", "case.absorption=IV", ["case.absorption", "'IB'", "'IV'"]),
    ("chlorophyll", "case.absorption={name: rgb, chlorophyll: 50}", ["chlorophyll", "[mg m-3]", "10", "50"]),
    ("mooring", "case.observations={format: ocean, paths: a.nc}", ["case.observations", "'oceansites'"]),
    ("flags", "case.observations.good_flags=[12]", ["case.observations.good_flags.0", "9", "12"]),
    (
        "variables",
        "case.observations.variables={temp: T}",
        ["case.observations.variables.temp", "'temperature'"],
    ),
    ("observed gap", "case.observations.longest_gap=0", ["case.observations.longest_gap", "greater", "0"]),
    ("heights", "case.observations={format: argo, paths: a.nc, z: [0, -9]}", ["observations.z", "increase"]),
    ("other year", "case.start_time=2019-01-01", ["case.observations", "0 to 0 s", "change start_time"]),
    ("half a year", "case.duration=1e8", ["case.duration", "1e+08", "extend"]),
    ("time scale", "case.interior.relaxation.salinity={}", ["relaxation.salinity", "time scale", "none"]),
    (
        "half a layer",
        "case.interior.relaxation.salinity={surface_height: 10}",
        ["relaxation.salinity", "surface_time_scale", "both"],
    ),
    (
        "negative time scale",
        "case.interior.relaxation.temperature={time_scale: -1}",
        ["relaxation.temperature.time_scale", "greater than 0", "[s]", "-1"],
    ),
    (
        "velocity that nobody observed",
        "case.interior.relaxation.velocity={time_scale: 3600}",
        ["case.interior.relaxation.velocity", "expected u", "temperature, salinity"],
    ),
    ("kind", "case.interior.pressure_gradient={kind: slope}", ["pressure_gradient", "'surface_slope'"]),
    ("slope in per cent", SLOPE + "1.0}", ["pressure_gradient.x", "slope between", "1", "check the unit"]),
    ("no meter", "case.interior.pressure_gradient={kind: velocity_at_height}", ["gradient.height", "add"]),
    ("two kinds of series", SLOPE + "{constant: 0, path: a}}", ["gradient.x", "harmonics", "path"]),
    ("series of two lengths", SLOPE + "{time: [0, 1], values: [0, 0, 0]}}", ["gradient.x", "(2)", "3"]),
    ("times out of order", SLOPE + "{time: [1, 0], values: [0, 0]}}", ["gradient.x", "increase"]),
    ("tide", SLOPE + "{harmonics: [{amplitude: 1, period: 0}]}}", ["x.harmonics.0.period", "greater", "0"]),
    ("series too short", SLOPE + "{time: [0, 60], values: [0, 0]}}", ["pressure gradient", "60 s", "extend"]),
    (
        "column that is not there",
        SLOPE + "{path: 'synthetic:station_weather', variable: dpdx}}",
        ["dpdx", "only wind_u", "correct"],
    ),
    (
        "gradient per km",
        "case.interior.buoyancy_gradient={salinity_x: 0.5}",
        ["buoyancy_gradient", "salinity_x", "0.5", "per metre"],
    ),
    ("plume", "case.interior.plume={slope_x: 3}", ["plume.slope_x", "1", "3"]),
    (
        "upwelling at depth",
        "case.interior.vertical_velocity={velocity: 1e-5, height: 50}",
        ["vertical_velocity.height", "negative height", "50", "sign"],
    ),
    (
        "upwelling in m per day",
        "case.interior.vertical_velocity={velocity: 5, height: -50}",
        ["vertical_velocity.velocity", "1", "5", "check the unit"],
    ),
    (
        "scheme",
        "case.interior.vertical_velocity={velocity: 0, height: -9, scheme: p2}",
        ["vertical_velocity.scheme", "'p2_pdm'", "'p2'"],
    ),
    ("roughness", FRICTION + "={physical_roughness: -1}", [FRICTION, "physical_roughness", "-1"]),
    ("unknown friction", FRICTION + "={roughness: 1}", [FRICTION + ".roughness", "unknown key"]),
    ("drift", DRIFT + "={kind: exponential, decay_depth: 0}", [DRIFT + ".decay_depth", "[m]", "0"]),
    ("drift of no wind", DRIFT + "={kind: wind_sea, u: 8}", [DRIFT, "both components", "u and v"]),
    (
        "held and relaxed",
        "case.interior={held: [salinity], relaxation: {salinity: {time_scale: 9.0}}}",
        ["case.interior", "no relaxation.salinity of what is held", "remove one"],
    ),
    ("held velocity", "case.interior.held=[u]", ["interior.held", "'temperature' or 'salinity'", "'u'"]),
    ("dry", "case.interior.surface_elevation=-200", ["surface_elevation", "-150 m", "-200 m", "sign"]),
]

HEADER = "time,wind_u [m s-1],wind_v [m s-1],air_temperature [degC],relative_humidity [%],air_pressure [hPa]"
HEADER += ",shortwave [W m-2],longwave [W m-2]"
LINES = [f"2015-03-01T{hour:02d}:00:00,5,0,10,80,1013,0,300" for hour in range(0, 24, 6)]
LINES += [line.replace("03-01", "03-02") for line in LINES]


def _csv(header: str = HEADER, **lines: str) -> str:
    """A table whose lines, counted from the one of names, are replaced."""
    new = [lines.get(f"line{i}", line) for i, line in enumerate([header, *LINES], 1)]
    return "\n".join(new) + "\n"


def _cell(name: str, value: str) -> str:
    """A table whose fourth line has another value."""
    at = [column.partition(" ")[0] for column in HEADER.split(",")].index(name)
    cells = LINES[2].split(",")
    return _csv(line4=",".join([*cells[:at], value, *cells[at + 1 :]]))


BEFORE, WHEN = "2015-03-01T06:00:00 (record 1)", "2015-03-01T12:00:00 (record 2)"
# name, content of the table, what the message holds beside the file
TABLES = [
    ("kelvin", _cell("air_temperature", "283"), ["air_temperature", "60", "283", WHEN, "give the unit K"]),
    ("Pa under hPa", _cell("air_pressure", "101300"), ["air_pressure", "1.013e+07", WHEN, "check the unit"]),
    ("hPa under Pa", _csv(HEADER.replace("hPa", "Pa")), ["air_pressure", "1013 at", "give that unit"]),
    ("fraction", _csv().replace(",80,", ",0.8,"), ["relative_humidity", "in %", "0.8", "fraction"]),
    ("too humid", _cell("relative_humidity", "800"), ["relative_humidity", "130", "800", WHEN]),
    ("gap", _cell("wind_u", ""), ["wind_u", "every 6 h", "12 h", BEFORE, "longest_gap"]),
    ("fill value", _cell("wind_v", "-999"), ["wind_v", "every 6 h", "12 h", BEFORE, "fill"]),
    ("no fill value", _cell("wind_v", "-199"), ["wind_v", "-100", "-199", WHEN, "fill value"]),
    ("text", _cell("wind_u", "calm"), ["line 4: wind_u", "number", "'calm'"]),
    ("dates of a country", _csv(line4=LINES[2].replace("2015-03-01", "01/03/2015")), ["line 4: time", "ISO"]),
    ("missing times", _csv(line4=LINES[7], line5=LINES[7], line6=LINES[7]), ["time", "increase", "18:00"]),
    ("long gap", _csv(line4="#", line5="#"), ["time", "every 21600 s", "64800 s", "06:00:00"]),
    ("misordered", _csv(line4=LINES[1], line3=LINES[2]), ["time", "increase", "06:00:00", "12:00:00"]),
    ("short line", _csv(line4="2015-03-01T12:00:00,5"), ["line 4", "8 values", "2", "complete"]),
    ("no names", _csv(header=LINES[0]), ["line 1", "one of them time", "add a line"]),
    ("name twice", _csv(HEADER.replace("wind_v", "wind_u")), ["line 1", "'wind_u' twice", "rename"]),
    ("no unit", _csv(HEADER.replace(" [%]", "")), ["relative_humidity", "'units'", "none"]),
    ("other unit", _csv(HEADER.replace("%", "W")), ["relative_humidity", "converts to %", "'W'"]),
    ("no humidity", _csv(HEADER.replace("relative", "absolute")), ["humidity", "dew_point", "none"]),
    ("net longwave", _csv().replace(",300", ",-60"), ["longwave", "downward", "-60", "longwave: net"]),
    ("empty", "# nothing\n", ["lines of values", "0 lines"]),
]


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "site.yaml"
    path.write_text(textwrap.dedent(GOOD))
    return path


def test_the_good_configuration_is_good(config):
    assert build_run(load_run(config)).case.grid.n_cells == 10


@pytest.mark.parametrize(("setting", "fragments"), [c[1:] for c in SETTINGS], ids=[c[0] for c in SETTINGS])
def test_refuses_setting(config, setting, fragments):
    with pytest.raises((ConfigError, FileFormatError)) as caught:
        build_run(load_run(config, [setting]))
    message = str(caught.value)
    for fragment in fragments:
        assert fragment in message, message
    of_a_file = isinstance(caught.value, FileFormatError)
    assert of_a_file or (message.startswith(str(config)) and "line " in message or "--set" in message), (
        message
    )


@pytest.mark.parametrize(("text", "fragments"), [c[1:] for c in TABLES], ids=[c[0] for c in TABLES])
def test_refuses_table(config, tmp_path, text, fragments):
    (tmp_path / "met.csv").write_text(text)
    with pytest.raises(FileFormatError) as caught:
        build_run(load_run(config, ["case.weather.paths=met.csv", "case.air_sea={}"]))
    for fragment in ["met.csv", *fragments]:
        assert fragment in str(caught.value), str(caught.value)
    # Each mistake begins with the section that names the file.
    lines = enumerate(config.read_text().splitlines(), 1)
    line = next(number for number, text in lines if text.startswith("  weather:"))
    starts = f"{config}: line {line}: case.weather: {tmp_path / 'met.csv'}: "
    assert all(each.startswith(starts) for each in str(caught.value).splitlines()), str(caught.value)


@pytest.mark.parametrize("key", ["weather", "observations"])
def test_missing_file_is_named_with_its_line(config, key):
    name = {"weather": "station_weather", "observations": "station_profiles"}[key]
    text = config.read_text().replace(f"synthetic:{name}", "x.nc")
    config.write_text(text)
    line = next(i for i, row in enumerate(text.splitlines(), 1) if "x.nc" in row)
    with error_naming(FileNotFoundError, f"site.yaml {line} case.{key}.paths x.nc"):
        build_run(load_run(config))


def test_mistakes_of_weather_profiles_and_series_come_at_once(tmp_path):
    """Each place is named once, however many readings found a mistake."""
    (tmp_path / "w.csv").write_text("time,wind_u [m s-1]\n2015-03-01,1\n2015-03-01T06:00,1\n")
    (tmp_path / "p.csv").write_text("time,depth [m],T [degC]\n2015-03-01,1,9\n")
    (tmp_path / "sst.csv").write_text("time,sst [degC]\n2015-03-01,9\n")
    text = GOOD.replace('paths: "synthetic:station_profiles"', "paths: p.csv, variables: {temperature: Temp}")
    text = text.replace('paths: "synthetic:station_weather"', "paths: w.csv, humidity_measure: relative")
    text = text.replace(
        "  air_sea:", "  series: {sea_surface_temperature: {path: sst.csv, variable: SST}}\n  air_sea:"
    )
    (tmp_path / "site.yaml").write_text(text)
    with pytest.raises(FileFormatError) as caught:
        build_run(load_run(tmp_path / "site.yaml"))
    lines = str(caught.value).splitlines()
    files = [line.split(".csv: ")[0].rsplit("/", 1)[-1] for line in lines]
    keys = [line.split(".csv: ")[1].split(":")[0] for line in lines]
    assert list(zip(files, keys, strict=True)) == [
        *(("w", key) for key in ("wind_v", "air_temperature", "humidity", "air_pressure")),
        ("p", "file"),
        ("sst", "SST"),
    ]
    assert all(line.count("site.yaml") == 1 for line in lines)
