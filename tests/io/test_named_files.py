"""Names of observation files, the folders they are searched in, and downloads; without a network."""

import hashlib
import os
from pathlib import Path

import pooch
import pytest

from tests.errors import error_naming
from tunax_lite.io import FileFormatError, named_files, read_manifest, resolve

NAME = "lesbrary:two_day_suite/8m/strong_wind"
REAL_DATA = os.environ.get(named_files.ENVIRONMENT_VARIABLE)
FILE = "lesbrary/strong_wind_instantaneous_statistics.jld2"


@pytest.fixture(autouse=True)
def nothing_around(tmp_path, monkeypatch):
    """An empty current directory, no data folder, an empty cache, and no network."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv(named_files.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(pooch, "retrieve", offline)


def offline(url, **options):
    raise OSError(f"no route to {url.split('/')[2]}\nand many more lines")


def put(folder: Path, content: bytes = b"les") -> Path:
    path = folder / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def small_file_is_right(monkeypatch):
    """The manifest with the checksum of the three bytes that `put` writes."""
    entries = read_manifest()
    entry = entries[NAME]
    values = vars(entry) | {"sha256": hashlib.sha256(b"les").hexdigest()}
    monkeypatch.setattr(named_files, "read_manifest", lambda: entries | {NAME: named_files.Entry(**values)})


def test_manifest_is_complete():
    entries = read_manifest()
    assert NAME in entries and "synthetic:wind_and_cooling" in entries
    for name, entry in entries.items():
        assert entry.licence and entry.citation
        if name.startswith("lesbrary:"):
            assert entry.url is not None and entry.url.endswith(Path(entry.file).name)
            assert entry.sha256 is not None and len(entry.sha256) == 64


def test_shipped_files_are_those_of_the_manifest():
    repository = Path(__file__).resolve().parents[2]
    for entry in read_manifest().values():
        path = repository / "data" / entry.file
        if path.is_file():
            assert entry.sha256 == hashlib.sha256(path.read_bytes()).hexdigest(), entry.name


@pytest.mark.long
@pytest.mark.skipif(REAL_DATA is None, reason="$TUNAX_LITE_DATA is not set: needs lesbrary/ below it")
def test_real_files_have_the_checksums(monkeypatch):
    monkeypatch.setenv(named_files.ENVIRONMENT_VARIABLE, str(REAL_DATA))
    for case in ("free_convection", "strong_wind", "strong_wind_no_rotation", "strong_wind_weak_cooling"):
        path = resolve(f"lesbrary:two_day_suite/8m/{case}")
        assert path.name == f"{case}_instantaneous_statistics.jld2"


@pytest.mark.usefixtures("small_file_is_right")
def test_folders_are_searched_in_order(tmp_path, monkeypatch):
    put(Path("data"))
    assert resolve(NAME) == Path("data") / FILE
    second = put(tmp_path / "second")
    monkeypatch.setenv(named_files.ENVIRONMENT_VARIABLE, f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    assert resolve(NAME) == second
    first = put(tmp_path / "first")
    assert resolve(NAME) == first


@pytest.mark.usefixtures("small_file_is_right")
def test_downloads_with_the_checksum_into_the_cache(tmp_path, monkeypatch):
    asked = {}

    def retrieve(url, known_hash, fname, path):
        asked.update(url=url, known_hash=known_hash)
        return str(path / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert resolve(NAME) == tmp_path / "cache" / "tunax_lite" / FILE
    assert asked["url"].startswith("https://github.com/CliMA/OceananigansArtifacts.jl/raw/glw/lesbrary2/")
    assert asked["known_hash"] == "sha256:" + hashlib.sha256(b"les").hexdigest()


def test_offline_says_what_to_do(tmp_path, monkeypatch):
    entry, place = read_manifest()[NAME], Path("data").absolute() / FILE
    with error_naming(FileNotFoundError, f"{NAME} {entry.url} {entry.sha256} {place} github.com") as caught:
        resolve(NAME)
    assert "many more lines" not in str(caught.value)
    assert list(tmp_path.rglob("*")) == [tmp_path / "here"]
    monkeypatch.setenv(named_files.ENVIRONMENT_VARIABLE, "/somewhere")
    put_it = "$TUNAX_LITE_DATA /somewhere/les_legay/LES_windDominant_results.nc SHA-256"
    with error_naming(FileNotFoundError, f"legay:wind_dominant {put_it}"):
        resolve("legay:wind_dominant")


def test_a_wrong_checksum_is_refused(tmp_path, monkeypatch):
    path = put(tmp_path / "data", b"another file")
    monkeypatch.setenv(named_files.ENVIRONMENT_VARIABLE, str(tmp_path / "data"))
    with error_naming(
        FileFormatError, "SHA-256 ebfa95ca1dd8f4b3870f96a8eac50b495a768a0ef11add5c2e1720431f66c71c"
    ):
        resolve(NAME)
    assert resolve(str(path)) == path


def test_unknown_names_suggest_known_ones():
    with error_naming(FileNotFoundError, f"lesbrary:two_day_suite/8m/strong_winds {NAME}"):
        resolve("lesbrary:two_day_suite/8m/strong_winds")


def test_plain_paths_start_from_the_base_and_then_from_here(tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "a.nc").touch()
    Path("a.nc").touch()
    Path("b.nc").touch()
    assert resolve("a.nc", tmp_path / "configs") == tmp_path / "configs" / "a.nc"
    assert resolve("b.nc", tmp_path / "configs") == Path("b.nc")
    assert resolve("a.nc") == Path("a.nc")
    with error_naming(FileNotFoundError, "c.nc configs/c.nc here/c.nc $TUNAX_LITE_DATA"):
        resolve("c.nc", tmp_path / "configs")
