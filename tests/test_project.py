"""What stands in several places of the project agrees: versions, targets, links."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from tunax_lite.io.yaml_file import parse_yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.MULTILINE))
WORKFLOW: Any = parse_yaml((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
PAGES: Any = parse_yaml((ROOT / ".github/workflows/pages.yml").read_text(encoding="utf-8"))
HOOKS: Any = parse_yaml((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))


def steps(key: str) -> list:
    """What stands under this key in the steps of all jobs of the workflows."""
    jobs = [*WORKFLOW["jobs"].values(), *PAGES["jobs"].values()]
    return [step[key] for job in jobs for step in job["steps"] if key in step]


def test_pythons_are_the_same_everywhere():
    label = "Programming Language :: Python :: "
    pythons = [c.removeprefix(label) for c in PROJECT["project"]["classifiers"] if c.startswith(label)]
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"
    assert f"sys.version_info < ({pythons[0].replace('.', ', ')})" in MAKEFILE
    assert " ".join(f"python{each}" for each in reversed(pythons)) in MAKEFILE
    assert WORKFLOW["jobs"]["unit"]["strategy"]["matrix"]["python"] == pythons
    others = {asked["python-version"] for asked in steps("with") if "python-version" in asked}
    assert others - {"${{ matrix.python }}"} <= set(pythons)
    assert PROJECT["tool"]["pyright"]["pythonVersion"] == pythons[0]
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{pythons[0].replace('.', '')}"
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert f"Python {pythons[0]} or newer" in text, name


def test_hosted_checks_and_hooks_call_targets_of_the_makefile():
    hooks = [hook["entry"] for repo in HOOKS["repos"] for hook in repo["hooks"]]
    commands = [command for command in steps("run") if not command.startswith(".venv/bin/pytest")]
    for command in [*hooks, *commands]:
        make, *targets = command.split()
        assert make == "make" and set(targets) <= TARGETS, command
    # A hook from elsewhere would bring a version of its own.
    assert {repo["repo"] for repo in HOOKS["repos"]} == {"local"}
    words = {word for command in commands for word in command.split()}
    assert {"lint", "types", "unit", "docs", "wheel"} <= words


def test_actions_are_pinned_to_commits():
    for action in steps("uses"):
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action), action


def test_citation_is_that_of_the_project_and_of_zenodo():
    """A release on Zenodo takes `.zenodo.json` instead of `CITATION.cff`, and its version from the tag."""
    citation: Any = parse_yaml((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = PROJECT["project"]
    assert citation["title"] == project["name"] and str(citation["version"]) == project["version"]
    assert citation["license"] == project["license"] and citation["keywords"] == project["keywords"]
    assert [author["name"] for author in citation["authors"]] == [one["name"] for one in project["authors"]]
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    same = {"title": "title", "keywords": "keywords", "license": "license", "upload_type": "type"}
    same |= {"description": "abstract", "creators": "authors"}
    assert {name: zenodo[name] for name in same} == {name: citation[key] for name, key in same.items()}


def test_recipe_of_conda_asks_for_what_the_project_asks_for():
    recipe: Any = parse_yaml((ROOT / "packaging" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == PROJECT["project"]["version"]
    assert PROJECT["project"]["scripts"]["tunax-lite"] in recipe["build"]["python"]["entry_points"][0]
    other = {"netcdf4": "netCDF4", "matplotlib-base": "matplotlib"}  # the names of conda
    python, *asked = [line.split(" ", 1) for line in recipe["requirements"]["run"]]
    assert python == ["python", PROJECT["project"]["requires-python"]]
    found = [other.get(name, name) + versions for name, versions in asked]
    assert found == PROJECT["project"]["dependencies"]


def test_errors_are_expected_by_kind_and_by_what_they_name():
    prose = re.compile(r"\braises\((?:[^()]|\([^()]*\))*\bmatch=")
    tests = {path.relative_to(ROOT / "tests").as_posix(): path for path in ROOT.glob("tests/**/*.py")}
    assert not [name for name, path in tests.items() if prose.search(path.read_text(encoding="utf-8"))]
