"""Build the book: ``python -m tools.build_book`` (what ``make book`` calls).

Fetch the pretrained model, run each notebook whose inputs changed, stage, build, check the site.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from importlib.metadata import files as distribution_files
from importlib.util import find_spec
from pathlib import Path

import yaml

from tools import check_site
from tools.notebooks import BUILD, EXECUTED, ROOT, digest, run_notebooks

SOURCE = BUILD / "src"
HTML = BUILD / "html"
STAMP = BUILD / "html.key"


def toc_pages(toc: Path = ROOT / "_toc.yml") -> list[str]:
    """Every page named in the table of contents, in reading order, without suffix."""
    pages: list[str] = []

    def walk(node: object) -> None:
        if isinstance(node, dict):
            pages.extend(node[key] for key in ("root", "file") if key in node)
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(yaml.safe_load(toc.read_text("utf-8")))
    return pages


def chapters(pages: list[str]) -> list[Path]:
    """The notebooks of the table of contents; one on disk that is not in it is an error."""
    listed = [ROOT / f"{page}.ipynb" for page in pages if page.startswith("notebooks/")]
    stray = sorted({*(ROOT / "notebooks").glob("*.ipynb")} - {*listed})
    if stray:
        sys.exit(f"not in _toc.yml: {', '.join(path.name for path in stray)}")
    return listed


def _file_of(distribution: str, name: str) -> Path:
    """Path of the file of an installed distribution whose path ends with ``name``."""
    for file in distribution_files(distribution) or []:
        if str(file).endswith(name):
            return Path(str(file.locate()))
    sys.exit(f"{distribution} is installed without {name}: run `make clean` and install again")


def stage(notebooks: list[Path]) -> None:
    """Lay out what jupyter-book reads: config, pages, executed notebooks, scripts."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "book", SOURCE / "book", ignore=shutil.ignore_patterns("web_static"))
    shutil.copytree(ROOT / "book" / "web_static", SOURCE / "web_static")
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, SOURCE)
    (SOURCE / "notebooks").mkdir()
    for notebook in notebooks:
        shutil.copy(EXECUTED / notebook.name, SOURCE / "notebooks")
    library = SOURCE / "web_static" / "lib"
    spec = find_spec("plotly")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    plotly = Path(spec.submodule_search_locations[0])
    shutil.copy(plotly / "package_data" / "plotly.min.js", library)
    shutil.copy(_file_of("sphinx-mathjax-offline", "mathjax/tex-svg.js"), library)


def build_html() -> bool:
    """Build ``_build/html`` from the stage unless it is up to date; True if it was built."""
    key = digest(sorted(path for path in SOURCE.rglob("*") if path.is_file()), SOURCE)
    kept = STAMP.read_text("utf-8") if STAMP.exists() else None
    if kept == key and (HTML / "index.html").exists():
        return False
    STAMP.unlink(missing_ok=True)
    work = BUILD / "jupyter-book"
    shutil.rmtree(work, ignore_errors=True)
    # Warnings are errors, references that lead nowhere are warnings, and all are shown at once.
    options = ["--path-output", str(work), "-W", "-n", "--keep-going"]
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", str(SOURCE), *options]
    log = BUILD / "jupyter-book.log"
    with log.open("w", encoding="utf-8") as stream:
        done = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        print(log.read_text("utf-8")[-6000:], file=sys.stderr)
        sys.exit(f"jupyter-book failed; the whole log is in {log.relative_to(ROOT)}")
    shutil.rmtree(HTML, ignore_errors=True)
    shutil.move(work / "_build" / "html", HTML)
    for page in HTML.rglob("*.html"):
        # Docutils calls the citations a list and their entries no list items, which leaves a
        # screen reader with an empty list; the entries have a role of their own.
        text = page.read_text("utf-8")
        if '<div role="list" class="citation-list">' in text:
            page.write_text(text.replace('<div role="list" class="cit', '<div class="cit'), "utf-8")
    STAMP.write_text(key, "utf-8")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="book", choices=("smoke", "book", "full"))
    parser.add_argument("--force", action="store_true", help="run every notebook again")
    args = parser.parse_args()

    if args.profile != "smoke":  # smoke runs on the micro models of the repository alone
        from accessibility_lib import models

        models.fetch("smollm2-135m")
    pages = toc_pages()
    notebooks = chapters(pages)
    run_notebooks(notebooks, args.profile, force=args.force)
    stage(notebooks)
    built = build_html()
    problems = check_site.missing_or_empty(HTML, pages)
    if problems:
        STAMP.unlink(missing_ok=True)
        sys.exit("the site is not whole:\n  " + "\n  ".join(problems))
    print(f"{len(pages)} pages, profile {args.profile}{'' if built else ', nothing to build'}")
    print(f"open {(HTML / 'index.html').as_uri()}")


if __name__ == "__main__":
    main()
