"""Find a Chromium for the tests that need a browser, or get one: ``python -m tools.chromium``.

The order is: ``$CHROMIUM``, one on the PATH, the one Playwright downloaded before, a download by
Playwright, and, for root on a Debian system, the package manager's.  Without any of them the
command fails and says what it tried; no test is ever skipped for lack of a browser.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# No sandbox only where root leaves no choice; the rest keeps the browser off the network.
FLAGS = (
    *(("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()),
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def _playwright_path() -> str | None:
    from playwright.sync_api import sync_playwright

    try:
        with sync_playwright() as playwright:
            path = playwright.chromium.executable_path
    except Exception as error:  # its own driver may not start, for want of a system library
        print(f"Playwright does not start: {error}", file=sys.stderr)
        return None
    return path if Path(path).exists() else None


def _candidates() -> Iterator[str | None]:
    yield os.environ.get("CHROMIUM")
    yield from map(shutil.which, NAMES)
    yield _playwright_path()


def find() -> str:
    """Path of an existing Chromium.

    Raises
    ------
    RuntimeError
        If there is none; the message says how to get one.
    """
    for path in _candidates():
        if path:
            return path
    raise RuntimeError(
        "no Chromium found: set CHROMIUM to its path, install one with your package manager, "
        "or run `python -m tools.chromium`"
    )


def ensure() -> str:
    """Path of a Chromium, installed if need be."""
    commands = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        commands += [
            ["apt-get", "update", "-q"],
            # libatomic1 is for Playwright's driver, which drives any Chromium.
            ["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium", "libatomic1"],
        ]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    tried = []
    for command in [[], *commands]:
        if command:
            print("+", *command, file=sys.stderr, flush=True)
            done = subprocess.run(command, env=environment, stdout=sys.stderr, check=False)
            tried.append(f"`{' '.join(command)}` (exit {done.returncode})")
        try:
            return find()
        except RuntimeError:
            continue
    raise RuntimeError("no Chromium found, and none could be installed; tried " + ", ".join(tried))


if __name__ == "__main__":
    try:
        print(ensure())
    except RuntimeError as error:
        sys.exit(str(error))
