"""The layers hold: who imports whom, which libraries stay where, and how long modules are."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tunax_lite"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Each name is a module or a folder of the package; imports go to an earlier layer, or within a folder.
LAYERS = (
    ("_types", "constants", "declarations", "interrupts", "variables"),
    ("runtime",),
    ("grid",),
    ("numerics",),
    ("precision", "time_series"),
    ("state", "observations"),
    ("forcing", "physics"),
    ("air_sea", "interior", "corrections", "observables"),
    ("case",),
    ("closures",),
    ("transport",),
    ("model",),
    ("trajectory", "checkpointing"),
    ("simulation",),
    ("diagnostics",),
    ("sensitivity",),
    ("planning",),
    ("io", "calibration", "comparison", "validation", "plotting"),
    ("run",),
    ("gotm",),
    ("config",),
    ("report",),
    ("cli",),
)
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}
# Siblings of one layer that may see each other: a calibration writes files, figures show variables.
SIBLINGS = {
    ("calibration", "io"),
    ("comparison", "io"),
    ("validation", "io"),
    ("validation", "calibration"),
    ("plotting", "io"),
    ("plotting", "calibration"),
    ("plotting", "comparison"),
    ("plotting", "validation"),
}

CORE = {"jax", "equinox", "jaxtyping", "numpy"}
ALLOWED = {
    "runtime": CORE | {"platformdirs"},
    "io": CORE | {"xarray", "netCDF4", "h5py", "pooch", "yaml", "gsw"},
    "calibration": CORE | {"optax", "scipy", "xarray", "yaml"},  # blackjax by name, where it is installed
    "plotting": CORE | {"matplotlib", "cmocean", "xarray"},
    "config": CORE | {"pydantic", "pydantic_core", "yaml"},
    "gotm": CORE | {"yaml"},
    "report": CORE | {"jinja2", "matplotlib", "xarray", "yaml"},
    "cli": CORE | {"typer", "click", "rich", "xarray", "yaml", "matplotlib"},
}


def place(module: Path) -> str:
    """Name of the module at the top of the package, or of its folder."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(module: Path):
    """Absolute dotted names that a module imports, with the import's line."""
    package = ("tunax_lite", *module.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*base, *([node.module] if node.module else [])])
            if name == "tunax_lite":  # from .. import x: x is the module
                for alias in node.names:
                    yield f"tunax_lite.{alias.name}", node.lineno
            else:
                yield name, node.lineno


def identify(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


@pytest.mark.parametrize("module", MODULES, ids=identify)
def test_imports_go_down(module):
    own = place(module)
    if own == "__init__":
        own_layer = LAYER["planning"] + 0.5  # the core names, nothing of files or calibrations
    else:
        own_layer = LAYER[own]
    for name, line in imports(module):
        if not name.startswith("tunax_lite.") or name == "tunax_lite.__version__":
            continue
        imported = name.split(".")[1]
        allowed = imported == own or LAYER[imported] < own_layer or (own, imported) in SIBLINGS
        assert allowed, f"{identify(module)}:{line} imports {name}, which lies above or beside it"


@pytest.mark.parametrize("module", MODULES, ids=identify)
def test_libraries_stay_where_they_belong(module):
    allowed = ALLOWED.get(place(module), CORE)
    standard = __import__("sys").stdlib_module_names
    for name, line in imports(module):
        top = name.split(".")[0]
        assert top in allowed | {"tunax_lite"} or top in standard, f"{identify(module)}:{line}: {name}"


@pytest.mark.parametrize("module", MODULES, ids=identify)
def test_modules_are_short_and_annotations_real(module):
    text = module.read_text()
    assert len(text.splitlines()) <= 400, "split the module"
    assert "from __future__ import annotations" not in text  # run-time checks need real ones
    assert "jax.config.update" not in text or module.name == "configure.py"
    assert not re.search(r"^\s*print\(", text, flags=re.MULTILINE) or place(module) == "cli"


@pytest.mark.parametrize("module", MODULES, ids=identify)
def test_text_files_are_utf_8_whatever_the_locale(module):
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        method = node.func.attr if isinstance(node.func, ast.Attribute) else None
        is_open = method == "open" or (isinstance(node.func, ast.Name) and node.func.id == "open")
        given = [part.value for part in node.args if isinstance(part, ast.Constant)]
        is_binary = any(isinstance(value, str) and re.fullmatch("[rwxa]?b[+]?", value) for value in given)
        if method in ("read_text", "write_text") or (is_open and not is_binary):
            of_system = isinstance(node.func, ast.Attribute) and ast.unparse(node.func) == "os.open"
            told = any(keyword.arg == "encoding" for keyword in node.keywords)
            assert told or of_system, f"{identify(module)}:{node.lineno}: which encoding?"


def test_every_closure_has_a_name_in_configurations_and_a_contract():
    from tests.helpers import ALL_CLOSURES
    from tunax_lite import closures
    from tunax_lite.closures import AbstractClosure
    from tunax_lite.declarations import names_of

    exported = {
        value
        for value in vars(closures).values()
        if isinstance(value, type) and issubclass(value, AbstractClosure) and value is not AbstractClosure
    }
    assert (
        exported
        == {each.kind for each in names_of(AbstractClosure).values()}
        == {type(closure) for closure in ALL_CLOSURES}
    )


def test_version_is_written_once():
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    assert version is not None
    holders = [m for m in MODULES if f'"{version[1]}"' in m.read_text()]
    assert holders == []
