"""Fixtures of several tests, most for a browser; nothing starts until a test asks for it."""

from __future__ import annotations

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tools import chromium


@pytest.fixture
def one_thread():
    """Sums in one order: the same weights every time."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium for the whole run."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium.find(), args=list(chromium.FLAGS)
        )
        yield started
        started.close()


@dataclass
class Watch:
    """What a page did that it should not: messages, exceptions, requests that left or failed."""

    troubles: list[str] = field(default_factory=list)

    def of(self, page, inside: tuple[str, ...]) -> None:
        def answer(route):
            if route.request.url.startswith((*inside, "data:", "blob:")):
                route.continue_()
            else:
                self.troubles.append(f"left the site: {route.request.url}")
                route.abort()

        def console(message):
            if message.type in {"error", "warning"}:
                self.troubles.append(f"console {message.type}: {message.text}")

        page.route("**/*", answer)
        page.on("console", console)
        page.on("pageerror", lambda error: self.troubles.append(f"exception: {error}"))
        page.on(
            "requestfailed",
            lambda request: self.troubles.append(f"failed: {request.url} {request.failure}"),
        )
        page.on(
            "response",
            lambda answer: (
                answer.status >= 400 and self.troubles.append(f"{answer.status}: {answer.url}")
            ),
        )


@pytest.fixture
def open_page(browser):
    """``open_page(url, inside=..., **context options)`` -> (page, Watch); closed after the test.

    Requests that do not start with one of ``inside`` (default: the page's own origin, or any file
    for ``file://``) are refused and reported in ``watch.troubles``.
    """
    with contextlib.ExitStack() as stack:

        def opener(url: str, *, inside: tuple[str, ...] | None = None, **options):
            context = browser.new_context(**options)
            stack.callback(context.close)
            page = context.new_page()
            watch = Watch()
            origin = "file://" if url.startswith("file:") else "/".join(url.split("/")[:3])
            watch.of(page, inside or (origin,))
            page.goto(url)
            return page, watch

        yield opener


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder over http on a free local port; yields the address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
