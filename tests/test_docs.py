"""The site: every public name has its place, examples run, pages stand alone."""

import doctest
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import some_long

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted(path.stem for path in (ROOT / "gallery").glob("*.py"))
QUICK = ("10_own_energy_equation",)
PAGES = sorted(page.stem for page in (DOCS / "api").glob("*.md") if ">>>" in page.read_text(encoding="utf-8"))
LONG_PAGES = ("calibrate", "infer")


def _module_of_docs(name: str):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        return importlib.import_module(name)


interface, pages = _module_of_docs("interface"), _module_of_docs("pages")


def test_every_public_name_is_on_a_page():
    documented = interface.documented()
    missing = [
        f"{module}.{name}"
        for module in interface.modules()
        for name, value in interface.public(module).items()
        if id(value) not in documented
    ]
    assert not missing, f"add them to a page below docs/api: {missing}"


def test_every_documented_name_is_described():
    assert len(interface.listed()) > 100
    for module, name in interface.listed():
        value = getattr(importlib.import_module(module), name)
        own = str(getattr(value, "__module__", "")).startswith("tunax_lite")
        assert inspect.getdoc(value) or not own, f"{module}.{name} has no docstring"


def test_declared_numbers_are_a_table_and_no_arguments():
    from tunax_lite import KEpsilon

    lines = inspect.cleandoc(str(KEpsilon.__doc__)).splitlines()
    interface.with_tables(KEpsilon, lines)
    text = "\n".join(lines)
    assert "   * - ``c_eps_1``\n     - 1.44\n" in text
    assert "\n    c_eps_1" not in text


@pytest.mark.parametrize("page", some_long(PAGES, lambda page: page in LONG_PAGES))
def test_examples_of_a_page_of_the_interface(page):
    text = (DOCS / "api" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```pycon\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, f"{page}.md", 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_gallery_asks_one_question_each_and_asserts_its_number():
    assert len(EXAMPLES) >= 15
    for name in EXAMPLES:
        text = (ROOT / "gallery" / f"{name}.py").read_text(encoding="utf-8")
        assert len(re.findall(r"^\*\*.*\?\*\*$", text, flags=re.MULTILINE)) == 1, name
        assert text.count("plt.subplots(") == 1 and re.search(r"^ *assert ", text, flags=re.MULTILINE), name


@pytest.mark.parametrize("name", some_long(EXAMPLES, lambda name: name not in QUICK))
def test_example_of_the_gallery(name):
    """In a process of its own, as a reader runs it; warnings of the package are errors."""
    command = [sys.executable, "-W", "error:::tunax_lite", f"{name}.py"]
    environment = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT / "gallery", env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_faults_of_pages_are_found(tmp_path):
    (tmp_path / "there.css").touch()
    page = '<link rel="stylesheet" href="there.css?v=1"><link rel="canonical" href="https://x.org/">'
    assert pages.faults(page + '<a href="https://x.org">x</a>', tmp_path) == []
    for tag, fault in (
        ('<script async src="https://cdn.org/mathjax.js"></script>', "https://cdn.org/mathjax.js comes from"),
        ('<link rel="stylesheet" href="//cdn.org/a.css">', "//cdn.org/a.css comes from the network"),
        ('<img alt="" src="_images/gone.png">', "_images/gone.png does not exist"),
    ):
        (found,) = pages.faults(tag, tmp_path)
        assert fault in found


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_site_stands_alone_and_shows_no_error_in_a_browser(tmp_path):
    """Built without the outputs of the gallery; the build itself refuses what comes from the network."""
    site = tmp_path / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-D", "plot_gallery=0", "-b", "html", DOCS, site]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True)
    formulae = (site / "closures" / "two_equation.html").read_text(encoding="utf-8")
    assert "<math" in formulae and not re.search(r"<script[^>]*mathjax", formulae, flags=re.IGNORECASE)
    targets = re.findall(
        r'<a class="reference external[^"]*" href="([^":]+)"', (site / "index.html").read_text()
    )
    assert len(targets) >= 6 and all((site / target).is_file() for target in targets)
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed")
    for page in ("index.html", "api/case.html", "closures/two_equation.html", "gallery/index.html"):
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
        shown = subprocess.run(
            [browser, *options, f"--user-data-dir={tmp_path / 'browser'}", (site / page).as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "</html>" in shown.stdout and "CONSOLE" not in shown.stderr, page
