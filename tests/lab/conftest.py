"""A real JupyterLab on copies of the notebooks."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tools.notebooks import ROOT

TOKEN = "lab-test"
# Asks for news over the network and opens a dialog about it.
DISABLED = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_up(address: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(240):
        assert server.poll() is None, log.read_text("utf-8")
        try:
            urllib.request.urlopen(f"{address}/api?token={TOKEN}", timeout=2).close()
            return
        except OSError:
            time.sleep(0.25)
    pytest.fail(f"JupyterLab did not come up:\n{log.read_text('utf-8')}")


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """The address of a JupyterLab whose folder holds copies of the notebooks."""
    home = tmp_path_factory.mktemp("lab")
    folder, config = home / "notebooks", home / "config"
    shutil.copytree(ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".*"))
    (config / "labconfig").mkdir(parents=True)
    (config / "labconfig" / "page_config.json").write_text(json.dumps(DISABLED), "utf-8")
    environment = {
        **os.environ,
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
    }
    port = _free_port()
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"),
        "--LabApp.expose_app_in_browser=True",
    ]
    log = home / "server.log"
    with log.open("w") as stream:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=stream, stderr=subprocess.STDOUT
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_up(address, server, log)
        yield address
    finally:
        server.terminate()  # takes its kernels along
        server.wait(timeout=30)


RESTORED = """async () => {
  await window.jupyterapp.restored;
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
}"""

ASK = """async (code) => {
  const panel = window.jupyterapp.shell.currentWidget;
  const future = panel.sessionContext.session.kernel.requestExecute({code});
  let text = "";
  future.onIOPub = ({content}) => { text += content.text ?? content.evalue ?? ""; };
  await future.done;
  return text.trim();
}"""


class Notebook:
    """A notebook open in JupyterLab."""

    def __init__(self, page, name: str) -> None:
        self.page = page
        page.wait_for_function(
            "(name) => window.jupyterapp?.shell?.currentWidget?.context?.path === name", arg=name
        )
        page.evaluate(RESTORED)

    def run_all(self) -> None:
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")

    def ask(self, code: str) -> str:
        """Run code in the notebook's kernel, outside its cells; returns what it prints."""
        return self.page.evaluate(ASK, code)

    def answers(self, code: str, expected: str) -> bool:
        """Whether the kernel comes to print ``expected``: a page's changes travel on their own."""
        for _ in range(50):
            if self.ask(code) == expected:
                return True
            self.page.wait_for_timeout(100)
        return False


@pytest.fixture
def open_notebook(lab, open_page):
    """``open_notebook(name)`` -> (Notebook, Watch)."""

    def opener(name: str):
        # A workspace of its own, or JupyterLab opens what an earlier test had open.
        workspace = name.partition(".")[0]
        page, watch = open_page(
            f"{lab}/lab/workspaces/{workspace}/tree/{name}?token={TOKEN}",
            inside=(lab, lab.replace("http", "ws")),
            viewport={"width": 1280, "height": 900},
        )
        return Notebook(page, name), watch

    return opener
