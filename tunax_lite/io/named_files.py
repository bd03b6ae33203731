"""Observation files by name (`lesbrary:two_day_suite/8m/strong_wind`) or by path.

Names are looked up in `data/MANIFEST.yaml`. The file is taken from the first of: the folders in
$TUNAX_LITE_DATA, `data/` in the current directory or in the package, the cache of earlier downloads, a
download. Its SHA-256 is always checked.
"""

import contextlib
import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pooch

from .checksums import sha256_of
from .errors import FileFormatError, is_store, shortened
from .yaml_file import read_document

ENVIRONMENT_VARIABLE = "TUNAX_LITE_DATA"
_NAME = re.compile(r"[a-z_]{2,}:[^/\\].*")
_PACKAGE = Path(__file__).resolve().parents[1]
# For an installed package, and for a checkout of the repository.
_DATA_FOLDERS = (_PACKAGE / "data", _PACKAGE.parent / "data")


@dataclass(frozen=True)
class Entry:
    """One file of the manifest."""

    name: str
    file: str  # path below a data folder
    url: str | None  # where to download it
    sha256: str


def read_manifest() -> dict[str, Entry]:
    """Read the manifest: all named files, by name."""
    path = next((f / "MANIFEST.yaml" for f in _DATA_FOLDERS if (f / "MANIFEST.yaml").is_file()), None)
    if path is None:
        path, expected = _DATA_FOLDERS[0] / "MANIFEST.yaml", "the list of named files"
        raise FileNotFoundError(f"{path}: expected {expected}, got none; install the package again.")
    content = read_document(path).data
    entries = {}
    for name, values in content["files"].items():
        source = content["sources"][name.partition(":")[0]]
        file = values["file"]
        url = source["url"] and source["url"] + file.rpartition("/")[2]
        entries[name] = Entry(name, file, url, values["sha256"])
    return entries


def resolve(name_or_path: str, base: Path | None = None) -> Path:
    """Return the file of a name in the manifest, or the file or Zarr store at a path.

    A relative path starts from the folder `base`, the current directory, or one of `data_folders`.

    Raises:
        FileNotFoundError: an unknown name, no such file, or a failed download.
        FileFormatError: a file whose checksum is not that of the name.
    """
    if _NAME.match(str(name_or_path)):
        return _resolve_name(str(name_or_path))
    path = Path(name_or_path)
    with contextlib.suppress(RuntimeError):  # no such user: keep the name unchanged
        path = path.expanduser()
    starts = [] if path.is_absolute() else [folder / path for folder in data_folders()]
    candidates = [path] if base is None or path.is_absolute() else [Path(base) / path, path]
    for candidate in (*candidates, *starts):
        if os.path.isfile(candidate) or is_store(candidate):
            return candidate
    places = dict.fromkeys(shortened(place.absolute()) for place in candidates)
    listed = os.environ.get(ENVIRONMENT_VARIABLE) or "not set"
    below = f", nor below ${ENVIRONMENT_VARIABLE} ({listed})" if starts else ""
    raise FileNotFoundError(
        f"{shortened(name_or_path)}: expected a file, got none at {' or '.join(places)}{below}; give a "
        "path, or a name such as lesbrary:two_day_suite/8m/strong_wind."
    )


def data_folders() -> list[Path]:
    """Folders searched for named files, in order."""
    listed = os.environ.get(ENVIRONMENT_VARIABLE, "").split(os.pathsep)
    return [Path(folder).expanduser() for folder in listed if folder] + [Path("data"), *_DATA_FOLDERS]


def _resolve_name(name: str) -> Path:
    manifest = read_manifest()
    if name not in manifest:
        close = difflib.get_close_matches(name, manifest, n=3, cutoff=0.4) or sorted(manifest)
        expected, names = "a name of data/MANIFEST.yaml", ", ".join(close)
        raise FileNotFoundError(f"{name}: expected {expected}, got an unknown one; known are {names}.")
    entry = manifest[name]
    path = next((folder / entry.file for folder in data_folders() if (folder / entry.file).is_file()), None)
    if path is not None:
        checksum = sha256_of(path)
        if checksum != entry.sha256:
            advice = "copy the file again, or give its plain path if you mean this one"
            raise FileFormatError(path, "SHA-256", f"{entry.sha256} for {name}", checksum, advice)
        return path
    listed = os.environ.get(ENVIRONMENT_VARIABLE)
    file, cache, reason = Path(entry.file), Path(pooch.os_cache("tunax_lite")), "no address to download from"
    if entry.url is not None:
        checksum = f"sha256:{entry.sha256}"
        try:
            path = pooch.retrieve(entry.url, known_hash=checksum, fname=file.name, path=cache / file.parent)
            return Path(path)
        except (OSError, ValueError) as error:
            # The messages of urllib3 are nested and long; the first part is enough.
            reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
    place = Path((listed or "data").split(os.pathsep)[0]).absolute() / file
    raise FileNotFoundError(
        f"{name}: expected its file in the folders of ${ENVIRONMENT_VARIABLE} ({listed or 'not set'}), "
        f"data/, the cache {cache} or a download, got: {reason}; put {entry.url or 'the file'} at "
        f"{place}."
    )
