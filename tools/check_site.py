"""Look at the finished site without a browser: pages there and not empty, links that resolve."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from bs4 import BeautifulSoup

MIN_CHARACTERS = 400  # a heading and a broken cell are shorter than this, any real page is longer


@cache
def _soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def missing_or_empty(html: Path, pages: list[str]) -> list[str]:
    """What is wrong with the pages of the table of contents (``[]``: nothing)."""
    problems = []
    for page in pages:
        path = html / f"{page}.html"
        if not path.exists():
            problems.append(f"{page}: no page")
            continue
        article = _soup(path).find("article")
        text = article.get_text(" ", strip=True) if article else ""
        if len(text) < MIN_CHARACTERS:
            problems.append(f"{page}: {len(text)} characters of text")
    return problems


def _targets(path: Path) -> set[str]:
    soup = _soup(path)
    return {str(tag.get("id") or tag.get("name")) for tag in soup.find_all(["a", True])} | {""}


def broken_links(html: Path) -> list[str]:
    """Internal links and anchors that lead nowhere, and any address outside the site it loads."""
    problems = []
    for path in sorted(html.rglob("*.html")):
        name = path.relative_to(html)
        if name.parts[0] == "_static":  # the theme's templates, not pages
            continue
        soup = _soup(path)
        for tag in soup.find_all(["a", "link", "script", "img", "source", "iframe"]):
            url = str(tag.get("href") or tag.get("src") or "")
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                loads = tag.name != "a" and "canonical" not in (tag.get("rel") or [])
                if loads and parts.scheme != "data":
                    problems.append(f"{name}: loads {url}")
                continue
            address, anchor = urldefrag(url)
            file = unquote(urlsplit(address).path)
            target = (path.parent / file).resolve() if file else path.resolve()
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                problems.append(f"{name}: {url} leads nowhere")
            elif target.suffix == ".html" and unquote(anchor) not in _targets(target):
                problems.append(f"{name}: {url} has no such anchor")
    return problems


def size_in_bytes(html: Path) -> int:
    """Size of the whole site."""
    return sum(path.stat().st_size for path in html.rglob("*") if path.is_file())
