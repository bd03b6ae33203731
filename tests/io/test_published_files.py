"""The page of published files says what the stored results of its readers say."""

import json
import re
from pathlib import Path

from tests.golden.files import STORED

PAGE = Path(__file__).parents[2] / "docs" / "observation_files.md"


def test_the_table_of_published_files_holds():
    text, stored = PAGE.read_text(encoding="utf-8"), json.loads(STORED.read_text(encoding="utf-8"))
    rows = dict(re.findall(r"^\| `(\S*?/\S*?)` \| `.*?` \| (.*) \|$", text, re.MULTILINE))
    assert rows.keys() == stored.keys()
    for name, said in rows.items():
        found, counts = stored[name], re.match(r"(\d+) times, (\d+) temperature", said)
        if not name.endswith("itides.nc"):  # heights of the bottom, whose grid the page describes
            assert said.startswith("refused: ") == ("error" in found), name
        if counts is not None:
            prefix = "" if "time" in found else "1."  # of a case and its observations
            values = [found[f"{prefix}time"]["shape"][0], found[f"{prefix}profiles.temperature"]["finite"]]
            assert [int(count) for count in counts.groups()] == values, name
