"""Progress of long jobs: a few short lines in a file."""

import pytest

from tunax_lite.cli import progress
from tunax_lite.cli.terminal import print_table


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only as a test says."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return now


def test_a_log_gets_the_first_the_last_and_a_line_every_few_seconds(clock, capsys):
    with progress.fraction_of("run", "compiling") as show:
        for step in range(1, 41):
            clock[0] += 1.0
            show(step / 40.0, f"day {step}")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run: compiling ..."
    # A report every second, a line every five seconds, and the last report whenever it comes.
    shown = [f"run: {round(2.5 * step)}%" for step in (*range(1, 40, 5), 40)]
    assert [line.partition(",")[0] for line in lines[1:]] == shown
    # Five steps in five seconds: 34 are left after the sixth.
    assert lines[2] == "run: 15%, day 6, 6 s, about 34 s left"
    assert lines[-1] == "run: 100%, day 40, 40 s"


def test_tables_break_neither_names_nor_numbers(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    columns = ["closure", "ratio", "ratio", "of", "a remark"]
    print_table(columns, [["k_epsilon_recommended", "(4.6)", "0.004 (+0.1)", "", "several words " * 9]])
    print_table(columns, [["long name, in words", "10.25", "-", "", ""]])
    print_table(columns, [], "a title")
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[:6] == ["k_epsilon_recommended", "(4.6)", "0.004", "(+0.1)", "several", "words"]
    assert lines[-2].rstrip() == "long name, in words  10.25      -" and lines[-1] == "a title"
