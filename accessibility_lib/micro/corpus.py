"""A corpus without a download: the docstrings of the packages this project pins.

The sources are read with :mod:`ast` and never imported.  Given the versions of the packages the
corpus is the same on every machine: files are walked in sorted order, every paragraph is kept only
where it occurs first, and the document's own hash decides whether it is held out.  No text of the
corpus is stored in the repository; a model card records its hash and the versions it was made of.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata, util
from pathlib import Path

from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models.registry import cache_dir

# Import names; all are direct or transitive dependencies pinned in requirements.txt.
PACKAGES = (
    "IPython", "accelerate", "babel", "docutils", "fsspec", "huggingface_hub", "hypothesis",
    "ipywidgets", "jedi", "jupyter_client", "jupyter_server", "jupyterlab",
    "mpmath", "narwhals", "networkx", "numpy", "pygments", "scipy", "sphinx", "sqlalchemy",
    "sympy", "torch", "tornado", "traitlets", "transformers",
)  # fmt: skip
# Functions that attach a docstring to a compiled object: the text is one of their arguments.
ATTACHERS = frozenset({"add_docstr", "add_newdoc", "_add_docstr"})
SHORTEST = 60  # characters; shorter docstrings are titles, not prose
RECIPE = 1  # raise it when a change of this file changes the corpus
HELD_OUT = 5  # of 256 hash values, so about 2 % of the documents


@dataclass(frozen=True)
class Corpus:
    """Documents for training and documents never trained on, with what identifies them."""

    train: tuple[str, ...]
    held_out: tuple[str, ...]
    versions: dict[str, str]
    sha256: str

    def __repr__(self) -> str:
        return (
            f"Corpus({len(self.train)} documents for training, {len(self.held_out)} held out, "
            f"sha256 {self.sha256[:12]})"
        )


def docstrings(source: str) -> Iterator[str]:
    """Yield the docstrings of one module's source, cleaned of their indentation.

    >>> list(docstrings('def f():\\n    "Say it."'))
    ['Say it.']
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in other people's sources
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):  # templates and files for another Python
            return
    for node in _statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            for argument in node.args if name in ATTACHERS else ():
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield "\n".join(line.rstrip() for line in argument.value.splitlines()).strip()


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Statements and the values of assignments, breadth first: ``ast.walk`` at a third the cost,
    as it does not go into expressions."""
    queue: deque[ast.AST] = deque([tree])
    while queue:
        node = queue.popleft()
        yield node
        if isinstance(node, ast.Expr | ast.Assign):
            queue.append(node.value)
        for field in ("body", "handlers", "orelse", "finalbody", "cases", "decorator_list"):
            children = getattr(node, field, ())
            queue.extend(children if isinstance(children, list) else ())


def _sources(package: str) -> Iterator[Path]:
    spec = util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise AccessibilityError(
            f"the corpus needs the package {package!r}, which is not installed; "
            "install the pinned requirements: pip install -r requirements.txt"
        )
    yield from sorted(Path(spec.submodule_search_locations[0]).rglob("*.py"))


def _versions(packages: Sequence[str]) -> dict[str, str]:
    distributions = metadata.packages_distributions()
    names = {package: sorted(distributions.get(package, [package]))[0] for package in packages}
    return {package: metadata.version(names[package]) for package in sorted(packages)}


def build(packages: Sequence[str] = PACKAGES) -> Corpus:
    """Read the corpus from the installed ``packages`` (import names).

    Returns a :class:`Corpus`; the same versions give the same ``sha256``.  Raises
    :class:`AccessibilityError` where a package is missing.
    """
    seen: set[str] = set()
    train: list[str] = []
    held_out: list[str] = []
    digest = hashlib.sha256()
    for package in sorted(packages):
        for path in _sources(package):
            for text in docstrings(path.read_text(encoding="utf-8", errors="replace")):
                if len(text) < SHORTEST:
                    continue
                paragraphs = [p for p in dict.fromkeys(text.split("\n\n")) if p not in seen]
                seen.update(paragraphs)
                document = "\n\n".join(paragraphs).strip("\n").replace("\0", "")
                if len(document) < SHORTEST:
                    continue
                key = hashlib.sha256(document.encode("utf-8", "replace")).digest()
                digest.update(key)
                (held_out if key[0] < HELD_OUT else train).append(document)
    return Corpus(tuple(train), tuple(held_out), _versions(packages), digest.hexdigest())


def load(cache: str | Path | None = None) -> Corpus:
    """The corpus of :data:`PACKAGES`, read from the sources once (about a minute) and then from
    the cache folder (see :func:`accessibility_lib.models.cache_dir`), as long as their versions
    stay the same.
    """
    return _load(cache_dir(cache) / "corpus")


@lru_cache(maxsize=1)
def _load(folder: Path) -> Corpus:
    versions = _versions(PACKAGES)
    key = hashlib.sha256(json.dumps([RECIPE, versions]).encode()).hexdigest()
    path = folder / f"{key[:16]}.json"
    if path.is_file():
        fields = json.loads(path.read_text(encoding="utf-8"))
        return Corpus(tuple(fields[0]), tuple(fields[1]), versions, fields[2])
    corpus = build()
    folder.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}.part")
    beside.write_text(json.dumps([corpus.train, corpus.held_out, corpus.sha256]), encoding="utf-8")
    beside.replace(path)
    return corpus
