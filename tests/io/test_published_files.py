"""The page of published files says what the readers do with those that are at hand."""

import os
import re
from pathlib import Path

import pytest

from benchmarks.observation_files import rows

PAGE = Path(__file__).parents[2] / "docs" / "observation_files.md"


KINDS = "moorings argo era5 les les_legay lesbrary maps lakes gotm_cases".split()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_of_published_files_holds(kind):
    folders = [Path(one) for one in os.environ.get("TUNAX_LITE_DATA", "").split(os.pathsep) if one]
    folder = next((one for one in folders if (one / kind).is_dir()), None)
    if folder is None:
        pytest.skip("no published files in $TUNAX_LITE_DATA")
    said = dict(
        re.findall(
            rf"^\| `({kind}/.*?)` \| `.*?` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    found = {name: text if is_read else f"refused: {text}" for name, _, is_read, text in rows(folder, kind)}
    common = said.keys() & found.keys()
    assert common
    assert {name: found[name] for name in common} == {name: said[name] for name in common}
