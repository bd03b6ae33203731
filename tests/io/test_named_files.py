"""Names of observation files, the folders they are searched in, and downloads; without a network."""

import hashlib
import os
from pathlib import Path

import pooch
import pytest

from tests.errors import error_naming
from tunax_lite.io import FileFormatError, named_files, read_manifest, resolve

NAME = "lesbrary:two_day_suite/8m/strong_wind"
SHIPPED = Path(__file__).resolve().parents[2] / "data"
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


def test_manifest_is_complete_and_has_the_checksums_of_real_files():
    entries = read_manifest()
    assert NAME in entries and "synthetic:wind_and_cooling" in entries
    for name, entry in entries.items():
        if name.startswith("lesbrary:"):
            assert entry.url is not None and entry.url.endswith(Path(entry.file).name)
            assert entry.sha256 is not None and len(entry.sha256) == 64
        for path in (folder / entry.file for folder in (SHIPPED, *map(Path, (REAL_DATA or "").split(":")))):
            if path.is_file():
                assert entry.sha256 == hashlib.sha256(path.read_bytes()).hexdigest(), name


def test_folders_are_searched_in_order_before_a_download_into_the_cache(tmp_path, monkeypatch):
    entries, asked = read_manifest(), {}
    entry = named_files.Entry(**vars(entries[NAME]) | {"sha256": hashlib.sha256(b"les").hexdigest()})
    monkeypatch.setattr(named_files, "read_manifest", lambda: entries | {NAME: entry})

    def retrieve(url, known_hash, fname, path):
        asked.update(url=url, known_hash=known_hash)
        return str(path / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert resolve(NAME) == tmp_path / "cache" / "tunax_lite" / FILE
    assert (asked["url"], asked["known_hash"]) == (entry.url, f"sha256:{entry.sha256}")
    put(Path("data"))
    assert resolve(NAME) == Path("data") / FILE
    monkeypatch.setenv(named_files.ENVIRONMENT_VARIABLE, f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    for folder in ("second", "first"):
        assert put(tmp_path / folder) == resolve(NAME)


def test_offline_says_what_to_do(tmp_path, monkeypatch):
    entry, place = read_manifest()[NAME], Path("data").absolute() / FILE
    with error_naming(FileNotFoundError, f"{NAME} {entry.url} {place} github.com"):
        resolve(NAME)
    monkeypatch.setenv(named_files.ENVIRONMENT_VARIABLE, "/somewhere")
    put_it = "$TUNAX_LITE_DATA /somewhere/les_legay/LES_windDominant_results.nc"
    with error_naming(FileNotFoundError, f"legay:wind_dominant {put_it}"):
        resolve("legay:wind_dominant")


def test_a_wrong_checksum_is_refused(tmp_path, monkeypatch):
    path = put(tmp_path / "data", b"another file")
    monkeypatch.setenv(named_files.ENVIRONMENT_VARIABLE, str(tmp_path / "data"))
    with error_naming(FileFormatError, f"SHA-256 {hashlib.sha256(b'another file').hexdigest()}"):
        resolve(NAME)
    assert resolve(str(path)) == path


def test_a_folder_that_is_searched_twice_is_named_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        resolve("met.csv", tmp_path)
    assert str(caught.value).count("met.csv") == 2  # the given path, and where it was searched


def test_plain_paths_start_from_the_base_and_unknown_names_suggest_known_ones(tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "a.nc").touch()
    Path("a.nc").touch()
    Path("b.nc").touch()
    assert resolve("a.nc", tmp_path / "configs") == tmp_path / "configs" / "a.nc"
    assert resolve("b.nc", tmp_path / "configs") == Path("b.nc")
    assert resolve("a.nc") == Path("a.nc")
    with error_naming(FileNotFoundError, "c.nc configs/c.nc here/c.nc $TUNAX_LITE_DATA"):
        resolve("c.nc", tmp_path / "configs")
    with error_naming(FileNotFoundError, f"lesbrary:two_day_suite/8m/strong_winds {NAME}"):
        resolve("lesbrary:two_day_suite/8m/strong_winds")
