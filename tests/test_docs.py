"""The site: every public name has its place, examples run, pages stand alone."""

import doctest
import html
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from tests.helpers import some_long
from tunax_lite.cli.commands import app

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


@pytest.mark.long
def test_first_steps_lead_to_a_calibration(tmp_path, monkeypatch):
    text = (DOCS / "start.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert [language for language, _ in blocks] == ["python", "yaml", "yaml"]
    monkeypatch.chdir(tmp_path)
    for name, (_, block) in zip(("observations.py", "mine.yaml", "mine_run.yaml"), blocks, strict=True):
        Path(name).write_text(block)
        assert f"`{name}`" in text
    subprocess.run([sys.executable, "observations.py"], check=True)
    commands = [line.split() for line in re.findall(r"^    tunax-lite (.*)$", text, flags=re.MULTILINE)]
    assert commands.pop(0) == ["demo"] and len(commands) == 5
    for command in commands:
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, f"{command}\n{done.output}"
    best = YAML(typ="safe").load(Path("results/mine/parameters.yaml"))
    assert abs(best["parameters"]["alpha"]["value"] - 1.2) < 0.05
    assert best["calibration"]["loss"] < 0.7 * best["calibration"]["loss_at_start"]
    assert Path("mine_run.html").is_file() and Path("results/mine/profiles.png").is_file()


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


def test_links_that_lead_nowhere_are_found(tmp_path):
    index, other = tmp_path / "index.html", tmp_path / "sub" / "other page.html"
    other.parent.mkdir()
    text = '<a class="x" href="sub/other%20page.html#there">a</a><a href="https://x.org/#y">b</a><a href="#">'
    found = {index: text, other: '<h1 id="there"></h1><a href="../index.html">d</a><a href="#gone">e</a>'}
    for path, page in found.items():
        path.write_text(page)
    assert pages.broken_links(found) == [f"{other}: #gone leads nowhere"]
    other.unlink()
    assert pages.broken_links({index: text}) == [f"{index}: sub/other%20page.html#there leads nowhere"]


PROBE = """<script>addEventListener("load", () => parent.postMessage({
    wide: Math.max(0, document.documentElement.scrollWidth - innerWidth),
    broken: [...document.images].filter(i => i.loading !== "lazy" && !i.naturalWidth).map(i => i.src),
    formulae: [...document.querySelectorAll("math")].filter(
        m => m.getClientRects().length && m.getBoundingClientRect().width < 2).length,
}, "*"))</script>"""
HARNESS = """<!doctype html><body><iframe></iframe><pre id="found"></pre><script>
const pages = %s, found = {}, frame = document.querySelector("iframe");
const todo = [390, 1280].flatMap(width => pages.map(page => [width, page]));
const next = () => {
    if (!todo.length) return document.querySelector("pre").textContent = JSON.stringify(found);
    frame.width = todo[0][0]; frame.height = 800; frame.src = todo[0][1];
};
addEventListener("message", event => { found[todo.shift().join(" ")] = event.data; next(); });
next();
</script></body>"""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_site_stands_alone_and_shows_no_error_in_a_browser(tmp_path):
    """All pages, as wide as a phone and as a desk, built without the outputs of the gallery.

    The build itself refuses what comes from the network, and links that lead nowhere.
    """
    site = tmp_path / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-D", "plot_gallery=0", "-b", "html", DOCS, site]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True)
    formulae = (site / "closures" / "two_equation.html").read_text(encoding="utf-8")
    assert "<math" in formulae and not re.search(r"<script[^>]*mathjax", formulae, flags=re.IGNORECASE)
    first = (site / "index.html").read_text(encoding="utf-8")
    entrances = re.findall(r'href="([^"]+)"><span[^>]*><img', first)
    assert 'href="gallery/index.html">Gallery</a>' in first
    assert len(entrances) >= 6 and all((site / target).is_file() for target in entrances)
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed")
    names = sorted(str(path.relative_to(site)) for path in site.rglob("*.html"))
    for name in names:
        page = (site / name).read_text(encoding="utf-8")
        (site / name).write_text(page.replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    (site / "harness.html").write_text(HARNESS % json.dumps(names))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    options += [f"--user-data-dir={tmp_path / 'browser'}", "--virtual-time-budget=600000"]
    shown = subprocess.run(
        [browser, *options, (site / "harness.html").as_uri()], capture_output=True, text=True, timeout=600
    )
    assert "CONSOLE" not in shown.stderr, re.findall(".*CONSOLE.*", shown.stderr)
    found = json.loads(html.unescape(re.findall('<pre id="found">(.*?)</pre>', shown.stdout)[0]))
    assert len(found) == 2 * len(names) > 100
    assert all(said == {"wide": 0, "broken": [], "formulae": 0} for said in found.values()), found
