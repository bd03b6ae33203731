"""What is written over: never what is read, nor what a command did not make; and one process at a time."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.cli.test_cli import CONFIGS, KATO, SHORT, _files, invoke  # noqa: F401
from tests.errors import error_naming, missing_from
from tunax_lite.io.netcdf import read_netcdf
from tunax_lite.io.protection import OverwriteError, check_outputs, mark_of, note_input, protecting
from tunax_lite.io.writing import InUseError, claimed, replacing
from tunax_lite.plotting import save_figure

SMALL = ["--set", "n_iterations=1", "--set", "grid.n_cells=16", "--set", "misfit.end=21600"]
SMALL += ["--set", "model.closure.name=pacanowski_philander"]
SMALL += ["--set", "parameters={alpha: {lower: 1.0, upper: 20.0}}"]


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def test_what_is_read_is_never_replaced(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    read = folder / "read.txt"
    read.write_text("observed", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(read)
    (tmp_path / "hard.txt").hardlink_to(read)
    (tmp_path / "same").symlink_to(folder)
    ways = ("folder/read.txt", "link.txt", "hard.txt", "same/read.txt", "folder/../folder/read.txt")
    with protecting():
        note_input(read)
        for path in (tmp_path / way for way in ways):
            with error_naming(OverwriteError, str(read)):
                check_outputs([path], overwrite=True)
            with error_naming(OverwriteError, str(read)):
                _write(path, "computed")
        _write(tmp_path / "free.txt", "computed")
    assert read.read_text(encoding="utf-8") == "observed"
    _write(read, "a program of one's own")  # outside a command, writers overwrite freely


def test_files_of_others_are_replaced_only_where_that_is_asked_for(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("mine", encoding="utf-8")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    with protecting():
        for there in (path, tmp_path / "dangling"):
            with error_naming(OverwriteError, f"{there} --overwrite"):
                check_outputs([there], overwrite=False)
        with error_naming(OverwriteError, "table.csv"):
            _write(path, "computed")  # what a command forgot to ask for
        check_outputs([path], overwrite=True)
        _write(path, "computed")
        _write(tmp_path / "new.csv", "first")
        _write(tmp_path / "new.csv", "second")
    assert path.read_text(encoding="utf-8") == "computed"


def test_names_that_the_locale_cannot_write_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "ascii")
    with error_naming(OverwriteError, "ascii LC_ALL=C.UTF-8"):
        check_outputs([tmp_path / "Ö.nc"], overwrite=True)


def test_files_say_what_they_are_made_of(tmp_path):
    path = tmp_path / "a&ü b.png"
    with protecting():
        check_outputs([path], overwrite=False, product="figures of ä & ö.nc")
        save_figure(Figure(), path)
        check_outputs([path], overwrite=False, product="figures of ä & ö.nc")
        with pytest.raises(OverwriteError):
            check_outputs([path], overwrite=False, product="figures of b.nc")
    plain = tmp_path / "plain.png"
    Figure().savefig(plain)
    os.mkfifo(tmp_path / "fifo.nc")
    for other in (plain, tmp_path / "fifo.nc", tmp_path / "none.nc"):
        assert mark_of(other) is None


@pytest.mark.long
def test_a_restart_names_what_differs(invoke, tmp_path):  # noqa: F811
    invoke("run", KATO, *SHORT, "--output", "one.nc")
    again = ["run", KATO, *SHORT, "--set", "time.duration=1800", "--restart", "one.nc", "--output", "two.nc"]
    for setting, parts in (
        ("model.closure.name=k_omega", "KOmega KEpsilon"),  # of one family, with the same state
        ("model.closure.options.stability=canuto_b", "stability canuto_b"),
        ("grid={kind: stretched, n_cells: 16, surface_zoom: 2.0}", "16 50"),
    ):
        assert not missing_from(invoke(*again, "--set", setting, code=2).stderr, parts)
    assert _files(tmp_path) == {"one.nc"}
    other = ["--set", "model.closure.parameters={c_eps_1: 1.5}", "--set", "case.forcing.heat_flux=-200"]
    assert not missing_from(invoke(*again, *other).output, "c_eps_1 1.44 1.5 case.forcing.heat_flux")
    assert read_netcdf(tmp_path / "two.nc").attrs["tunax_lite_restart"] == "one.nc at 1200 s"


def test_a_claim_holds_where_no_byte_may_be_written(tmp_path, monkeypatch):
    def refuse(*given):
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(os, "pwrite", refuse)
    with claimed(tmp_path / "out.nc"):
        assert (tmp_path / ".out.nc.lock").exists()
    assert not list(tmp_path.iterdir())


@pytest.mark.long  # a process
def test_the_second_process_is_told(tmp_path):
    path, place = tmp_path / "new" / "out.nc", tmp_path / "new" / "folder"
    code = f"""
import sys
from tunax_lite.io.writing import claimed
with claimed({str(path)!r}), claimed({str(place)!r}, folder=True):
    print("claimed", flush=True)
    sys.stdin.read()
"""
    pipes: dict = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as other:
        assert other.stdout is not None and other.stdout.readline() == b"claimed\n"
        for name, folder in ((path, False), (place, True)):
            with error_naming(InUseError, f"{name} {other.pid}"), claimed(name, folder=folder):
                pass
        with claimed(tmp_path / "new" / "another.nc"):
            pass
        other.send_signal(signal.SIGKILL)
    for name, folder in ((path, False), (place, True)):
        with claimed(name, folder=folder), claimed(name, folder=folder):
            pass
    assert not [found for found in tmp_path.rglob("*") if found.is_file()]


@pytest.mark.long  # a process
def test_what_a_killed_process_left_half_written_goes(tmp_path):
    path = tmp_path / "out.nc"
    code = f"""
import os, signal
from tunax_lite.io.writing import replacing
with replacing({str(path)!r}) as temporary:
    temporary.write_text("half", encoding="utf-8")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".out.nc.") and left.suffix == ".tmp"
    others = [tmp_path / ".out.nc.000000-1-00000000.tmp", tmp_path / ".out.nc.tmp", tmp_path / "notes.tmp"]
    for other in others:  # of another machine, and of the user
        other.write_text("mine", encoding="utf-8")
    with replacing(path) as temporary, replacing(tmp_path / "b.nc") as another:
        temporary.write_text("whole", encoding="utf-8")
        another.write_text("whole", encoding="utf-8")
    assert set(tmp_path.iterdir()) == {path, tmp_path / "b.nc", *others}


@pytest.mark.long  # two processes
@pytest.mark.parametrize("variable", ["JAX_PLATFORMS", "XLA_FLAGS"])
def test_a_wrong_variable_is_one_message(tmp_path, variable):
    command = [sys.executable, "-c", "from tunax_lite.cli import main; main()", "run", KATO, *SHORT]
    environment = os.environ | {variable: "--nonsense"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"tunax-lite: error: {variable}") and len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())
