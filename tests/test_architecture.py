"""The layers hold: who imports whom, which libraries stay where, what uses a name."""

import ast
import graphlib
import importlib
import inspect
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tunax_lite"
MODULES = sorted(PACKAGE.rglob("*.py"))
TEXTS = {module: module.read_text(encoding="utf-8") for module in MODULES}
TREES = {module: ast.parse(text) for module, text in TEXTS.items()}
FILES = {
    ".".join(module.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): module
    for module in MODULES
}

# From below: each name is a module or a folder of the package. Imports go to an earlier floor, or to a
# sibling that is named.
FLOORS = (
    ("_lazy", "_types", "constants", "declarations", "quantities", "registry"),
    ("runtime", "views"),
    ("numerics", "physics", "column", "air_sea", "ice", "closures"),  # the core, in the order below
    ("plausibility",),
    ("io", "calibration", "plotting"),
    ("config",),
    ("report",),
    ("cli",),
    ("extensions",),
)
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}
CORE = FLOORS[2]
# A term sees the water and the forcing, a closure sees no term, and the model sees their interfaces.
ORDER_OF_CORE = (
    "column.grid > numerics > column.time_series > column.state column.observations > "
    "column.forcing physics > column.terms > "
    "air_sea column.corrections ice column.observables > column.case > closures > "
    "column.transport > column.discretisation > column.model > "
    "column.trajectory column.checkpointing column.arguments column.mapping > "
    "column.diagnostics column.budgets > column.averages > column.integrate > "
    "column.sensitivity"
)
PLACE_IN_CORE = {name: n for n, names in enumerate(ORDER_OF_CORE.split(" > ")) for name in names.split()}
# Siblings of one floor that may see each other: a calibration writes files, figures show variables.
SIBLINGS = {("calibration", "io"), ("plotting", "io"), ("plotting", "calibration")}

# What computes; readers and writers do not.
RUNNING = {"transport", "discretisation", "model", "checkpointing", "mapping", "integrate"}
RUNNING |= {"diagnostics", "sensitivity"}
BASE = {"jax", "equinox", "jaxtyping", "numpy"}
ALLOWED = {
    "runtime": BASE | {"platformdirs", "dask", "distributed", "cloudpickle"},
    "plausibility": BASE | {"gsw"},
    "io": BASE | {"xarray", "pandas", "scipy", "netCDF4", "cftime", "zarr", "h5py", "pooch", "yaml", "gsw"},
    "extensions": BASE | {"xarray", "cftime", "scipy", "zarr", "pydantic", "matplotlib", "typer"},
    "calibration": BASE | {"optax", "xarray"},  # blackjax by name, where it is installed
    "plotting": BASE | {"matplotlib", "cmocean", "xarray"},
    "config": BASE | {"pydantic", "pydantic_core"},
    "report": BASE | {"jinja2", "matplotlib", "xarray"},
    "cli": BASE | {"typer", "click", "rich", "xarray", "matplotlib"},
}


def place(module: Path) -> str:
    """Name of the module at the top of the package, or of its folder."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imports(module: Path) -> list[tuple[str, int]]:
    """Absolute dotted names that a module imports, with the import's line."""
    found, package = [], ("tunax_lite", *module.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.append((alias.name, node.lineno))
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:  # from .. import x: x is the module
                whole = f"{name}.{alias.name}"
                found.append((whole if name == "tunax_lite" or whole in FILES else name, node.lineno))
    return found


def identify(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


def place_in_core(name: str) -> int:
    """Of a dotted name below the package: of its folder, or within `column` of the module."""
    parts = name.split(".")
    return PLACE_IN_CORE[".".join(parts[: 2 if parts[0] == "column" else 1])]


def is_allowed(module: Path, name: str) -> bool:
    """Whether an import of a name of the package goes down, or to a sibling that is named."""
    own, imported = place(module), name.removeprefix("tunax_lite.")
    other = imported.split(".")[0]
    if own == "__init__" or name == "tunax_lite.__version__":
        return True
    if own in CORE and other in CORE:
        here = place_in_core(".".join(module.relative_to(PACKAGE).with_suffix("").parts))
        return place_in_core(imported) < here or (place_in_core(imported) == here and own == other)
    return other == own or FLOOR[other] < FLOOR[own] or (own, other) in SIBLINGS


def test_imports_go_down():
    for module in MODULES:
        for name, line in imports(module):
            goes_down = not name.startswith("tunax_lite.") or is_allowed(module, name)
            assert goes_down, f"{identify(module)}:{line} imports {name}, which lies above or beside it"


def test_no_files_import_each_other_in_a_circle():
    graph = {own: {name for name, _ in imports(module)} - {own} for own, module in FILES.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError with the files


def test_readers_and_writers_run_nothing():
    for module in (PACKAGE / "io").glob("*.py"):
        for name, line in imports(module):
            runs = name.startswith("tunax_lite.column.") and name.split(".")[2] in RUNNING
            assert not runs, f"{identify(module)}:{line} imports {name}, which runs models"


def test_libraries_stay_where_they_belong():
    for module in MODULES:
        allowed = ALLOWED.get(place(module), BASE) | {"tunax_lite"} | sys.stdlib_module_names
        for name, line in imports(module):
            assert name.split(".")[0] in allowed, f"{identify(module)}:{line} imports {name}"


def test_annotations_are_real_and_modules_neither_print_nor_set_up_jax():
    for module, text in TEXTS.items():
        assert "from __future__ import annotations" not in text, module
        assert "jax.config.update" not in text or module.name == "jax_setup.py", module
        assert not re.search(r"^\s*print\(", text, re.MULTILINE) or place(module) == "cli", module


def lacks_encoding(node: ast.AST) -> bool:
    """Whether a call opens a text file in the encoding of the locale."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) == "os.open":
        return False
    method = node.func.attr if isinstance(node.func, ast.Attribute) else None
    is_open = method == "open" or (isinstance(node.func, ast.Name) and node.func.id == "open")
    given = [part.value for part in node.args if isinstance(part, ast.Constant)]
    is_binary = any(isinstance(value, str) and re.fullmatch("[rwxa]?b[+]?", value) for value in given)
    opens_text = method in ("read_text", "write_text") or (is_open and not is_binary)
    return opens_text and not any(keyword.arg == "encoding" for keyword in node.keywords)


def test_text_files_are_utf_8_whatever_the_locale():
    for module, tree in TREES.items():
        lines = [getattr(node, "lineno", 0) for node in ast.walk(tree) if lacks_encoding(node)]
        assert not lines, f"{identify(module)}: {lines}"


def test_classes_of_closures_are_abstract_or_final():
    """None is derived from a class that could stand alone, none overrides what is written out elsewhere."""
    closures = [module for module in MODULES if place(module) == "closures"]
    nodes = [(identify(module), node) for module in closures for node in ast.walk(TREES[module])]
    assert not [where for where, node in nodes if isinstance(node, ast.Name) and node.id == "super"]
    classes = {node.name: node for _, node in nodes if isinstance(node, ast.ClassDef)}

    def bases(node: ast.ClassDef) -> list[ast.ClassDef]:
        names = [ast.unparse(base).partition("[")[0] for base in node.bases]
        return [classes[name] for name in names if name in classes]

    def written_out(node: ast.ClassDef) -> set[str]:
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        abstract = {m.name for m in methods if "abc.abstractmethod" in map(ast.unparse, m.decorator_list)}
        return {m.name for m in methods} - abstract - {"__check_init__"}

    for name, node in classes.items():
        above = bases(node)
        for base in above:
            assert base.name.startswith("Abstract") or base.name == "CloState", f"{name} extends {base.name}"
        while above:
            base = above.pop()
            above += bases(base)
            again = written_out(node) & written_out(base)
            assert not again, f"{name} overrides {again} of {base.name}"


def test_every_closure_has_a_name_in_configurations_and_a_contract():
    import tunax_lite as tl
    from tests.helpers import ALL_CLOSURES
    from tunax_lite import closures
    from tunax_lite.closures import AbstractClosure
    from tunax_lite.declarations import names_of

    exported = {
        value
        for value in vars(closures).values()
        if isinstance(value, type) and issubclass(value, AbstractClosure) and not inspect.isabstract(value)
    }
    named = {each.kind for each in names_of(AbstractClosure).values()}
    lists = {
        "closures/__init__.py": exported,
        "classes with @named": {kind for kind in named if kind.__module__.startswith("tunax_lite.closures.")},
        "ALL_CLOSURES of tests/helpers.py": {type(closure) for closure in ALL_CLOSURES},
    }
    for kind in lists["classes with @named"]:
        assert getattr(tl, kind.__name__) is kind and kind.__name__ in dir(tl), kind
    for where, there in lists.items():
        missing = set().union(*lists.values()) - there
        assert not missing, f"closures that are missing in {where}: {missing}"
    assert named == exported


def test_a_star_imports_every_name_of_a_package():
    for package, module in FILES.items():
        if package == "tunax_lite._lazy" or "lazily(" not in TEXTS[module]:
            continue
        found = {}
        exec(f"from {package} import *", found)
        declared = importlib.import_module(package)._NAMES.values()
        assert set(" ".join(declared).split()) == found.keys() - {"__builtins__"}, package


def test_every_public_name_has_a_docstring():
    for module, tree in TREES.items():
        named = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        assert not named or ast.get_docstring(tree), module
        missing = [node.name for node in named if node.name[0] != "_" and not ast.get_docstring(node)]
        assert not missing, f"{identify(module)}: {missing}"


def test_every_public_name_has_a_use():
    defined, used = {}, set()
    for module, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                in_files = any("named" in ast.unparse(each) for each in node.decorator_list)
                defined[node.name] = in_files, f"{identify(module)}: {node.name}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute):
                used.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                used |= set(re.findall(r"\w+", node.value))  # annotations, and names that are imported late
    told = [ROOT / "pyproject.toml", *(ROOT / "benchmarks").glob("*.py")]
    told += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    used |= {word for path in told for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert not [where for name, (in_files, where) in defined.items() if not in_files and name not in used]
