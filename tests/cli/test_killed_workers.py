"""A calibration on workers of which some, and the command itself, are killed at random moments."""

import os
import random
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.cli.test_interrupted_commands import CALIBRATION, COMMAND, LONGEST, content_of, differences

pytestmark = pytest.mark.long
CONFIG = (
    CALIBRATION.replace(
        "grid: {kind: uniform, n_cells: 16}",
        "grid: [{kind: uniform, n_cells: 16}, {kind: uniform, n_cells: 20}, {kind: uniform, n_cells: 24}]",
    )
    + "optimiser: {name: adam}\nn_iterations: 400\n"
)


def children_of(parent: int) -> list[int]:
    """Local workers that a process started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            is_worker = b"spawn_main" in (entry / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == parent and is_worker:
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize(("n_workers", "n_kills"), [(2, 12), (7, 12)])
def test_whoever_is_killed_the_files_are_those_of_one_process(n_workers, n_kills, tmp_path):
    chance, sent = random.Random(n_workers), []
    for folder in ("one", "many"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.yaml").write_text(CONFIG)
    command = [*COMMAND, "calibrate", "config.yaml", "--output", "out"]
    subprocess.run(command, cwd=tmp_path / "one", check=True, capture_output=True)
    on_workers, more, code = ["--workers", str(n_workers)], "--overwrite", None
    while code != 0 or len(sent) < n_kills:
        with tempfile.TemporaryFile("w+") as said:
            given = [*command, *on_workers, more]
            process = subprocess.Popen(given, cwd=tmp_path / "many", stdout=said, stderr=said)
            is_ended = False
            while len(sent) < n_kills and not is_ended:
                try:
                    process.wait(chance.uniform(0.5, 12.0))
                    break
                except subprocess.TimeoutExpired:
                    victims = children_of(process.pid)
                is_ended = not victims or chance.random() < 0.4
                number = chance.choice((signal.SIGKILL, signal.SIGTERM)) if is_ended else signal.SIGKILL
                os.kill(process.pid if is_ended else chance.choice(victims), number)
                sent.append(("command" if is_ended else "worker", number.name))
            code = process.wait(LONGEST)
            said.seek(0)
            text = said.read()
        # A command that has written its files and leaves Python no longer handles the signal.
        expected = 0, -signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM
        assert code in expected and "Traceback" not in text, (sent, text)
        more = "--overwrite" if code == 0 else "--resume"
        if code == 0:  # else it was too fast, and does it once more
            assert not differences(content_of(tmp_path / "one"), content_of(tmp_path / "many")), sent
