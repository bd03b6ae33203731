"""What a hosted build adds, which knows the address of the repository: notebooks for Colab and Binder."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def with_links(text: str, repository: str) -> str:
    """A page with links to Colab and Binder beside each link to a notebook of a repository OWNER/NAME."""

    def linked(found: re.Match) -> str:
        name = found[2]
        colab = f"https://colab.research.google.com/github/{repository}/blob/gh-pages/notebooks/{name}"
        binder = f"https://mybinder.org/v2/gh/{repository}/main?urlpath=lab/tree/notebooks/{name}"
        return f"{found[1]} ([Colab]({colab}), [Binder]({binder}))"

    return re.sub(r"(\[[^\]]*\]\(\.\./notebooks/(\w+\.ipynb)\))", linked, text)


def write_notebooks(folder: Path, repository: str) -> list[Path]:
    """Write notebooks whose first cell installs the package from a repository OWNER/NAME."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        (cell,) = (cell for cell in notebook["cells"] if "install" in cell["metadata"].get("tags", []))
        line = re.sub(
            r'"(tunax_lite[^"]*)"$', rf'"\1 @ git+https://github.com/{repository}"', cell["source"][-1]
        )
        cell["source"][-1] = line
        written.append(folder / path.name)
        written[-1].write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return written
