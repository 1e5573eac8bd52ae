"""Results on disk: one schema, provenance and a checksum for every stored number.

An artifact is ``NAME.json`` and, where it has arrays, ``NAME.safetensors`` beside it.  The JSON is
an object with

- ``schema``: the version of this layout, now 1; a reader refuses a later one;
- ``kind``: what ``data`` means, by the room that wrote it ("cramming", "support", ...);
- ``complete``: False where the run was cut short;
- ``provenance``: ``version`` and ``commit`` of the package, ``model`` and its ``sha256``,
  ``config``, ``seed``, ``seconds``, ``date`` and ``machine``;
- ``data``: the result itself, plain JSON;
- ``arrays``: the sha256 of the safetensors file, or null;
- ``sha256``: of all the above, as JSON with sorted keys and no spaces.

Nothing is ever unpickled, and a file that holds a pickle is refused before it is read.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from accessibility_lib import __version__
from accessibility_lib.errors import AccessibilityError

SCHEMA = 1
FIELDS = ("schema", "kind", "complete", "provenance", "data", "arrays")
PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")  # plain, and in a zip


@dataclass(frozen=True, eq=False)
class Artifact:
    """A stored result: ``kind``, JSON ``data``, named ``arrays``, ``provenance``, ``path``."""

    kind: str
    data: Any
    arrays: Mapping[str, np.ndarray]
    provenance: Mapping[str, Any]
    complete: bool = True
    path: Path = field(default_factory=Path)


def save(
    path: str | Path,
    kind: str,
    data: Any,
    arrays: Mapping[str, np.ndarray] | None = None,
    *,
    model: str | None = None,
    sha256: str | None = None,
    config: Any = None,
    seed: int | None = None,
    seconds: float | None = None,
    complete: bool = True,
) -> Path:
    """Write ``path`` with the suffixes ``.json`` and, for ``arrays``, ``.safetensors``; returns the
    JSON's path.

    ``data``: anything JSON can hold, without NaN.  ``model``, ``sha256``: name and hash of the
    model.  ``config``: a dataclass or a mapping.  ``seconds``: of computing.  ``complete``: False
    for a partial result.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = save(Path(folder.name) / "a", "example", {"n50": 9.5}, {"x": np.arange(3)}, seed=0)
    >>> load(path, "example").data["n50"], load(path).arrays["x"].tolist()
    (9.5, [0, 1, 2])
    >>> folder.cleanup()
    """
    base = _base(path)
    base.parent.mkdir(parents=True, exist_ok=True)
    tensors = None
    if arrays:
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        tensors = save_arrays(contiguous)
        _replace(_with(base, ".safetensors"), tensors)
    content = {
        "schema": SCHEMA,
        "kind": kind,
        "complete": complete,
        "provenance": {
            "version": __version__,
            "commit": _commit(),
            "model": model,
            "sha256": sha256,
            "config": asdict(config) if is_dataclass(config) else config,  # type: ignore[arg-type]
            "seed": seed,
            "seconds": None if seconds is None else round(seconds, 3),
            "date": datetime.now(UTC).date().isoformat(),
            "machine": _machine(),
        },
        "data": data,
        "arrays": None if tensors is None else hashlib.sha256(tensors).hexdigest(),
    }
    try:
        content = json.loads(json.dumps(content, allow_nan=False))  # keys as a reader sees them
        content["sha256"] = _digest(content)
        text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise AccessibilityError(
            f"the data for {base}.json is not JSON ({error}); give numbers, strings, lists and "
            "dicts, and None in place of NaN."
        ) from None
    _replace(_with(base, ".json"), text.encode())
    return _with(base, ".json")


def load(path: str | Path, kind: str | None = None) -> Artifact:
    """Read and check what :func:`save` wrote; ``path`` with or without its suffix.

    Raises :class:`AccessibilityError`, naming the file, where it is missing, changed since it was
    written, of a later schema or another ``kind``, or holds a pickle.
    """
    base = _base(path)
    file = _with(base, ".json")
    try:
        content = json.loads(_read(file).decode())
        later = isinstance(content, dict) and content.get("schema", 0)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise AccessibilityError(f"{file} is not JSON ({error}); {RESTORE}") from None
    if isinstance(later, int) and later > SCHEMA:
        raise AccessibilityError(
            f"{file} has schema {later}, but this version reads up to {SCHEMA}; update "
            "accessibility_lib, or read it with the version that wrote it."
        )
    if not isinstance(content, dict) or set(content) != {*FIELDS, "sha256"}:
        raise AccessibilityError(f"{file} is no artifact; {RESTORE}")
    if _digest(content) != content["sha256"]:
        raise AccessibilityError(f"{file} was changed after it was written; {RESTORE}")
    if kind is not None and content["kind"] != kind:
        raise AccessibilityError(
            f"{file} is of kind {content['kind']!r}, not {kind!r}; give the path of another one."
        )
    arrays: Mapping[str, np.ndarray] = {}
    if content["arrays"] is not None:
        raw = _read(_with(base, ".safetensors"))
        if hashlib.sha256(raw).hexdigest() != content["arrays"]:
            raise AccessibilityError(
                f"{base}.safetensors was changed after it was written; {RESTORE}"
            )
        try:
            arrays = load_arrays(raw)
        except SafetensorError as error:
            raise AccessibilityError(
                f"{base}.safetensors cannot be read ({error}); {RESTORE}"
            ) from None
    return Artifact(
        content["kind"], content["data"], arrays, content["provenance"], content["complete"], file
    )


RESTORE = "restore it from the repository, or delete it and compute it again."


def home(name: str | Path = "results") -> Path:
    """A folder of stored results: here, or one folder up, from where notebooks run.

    >>> home().name
    'results'
    """
    return next((base for base in (Path(name), Path("..") / name) if base.is_dir()), Path(name))


def find(folder: str | Path, kind: str | None = None) -> Iterator[Path]:
    """The JSON files of all artifacts below ``folder``, sorted; of one ``kind`` if given."""
    for file in sorted(Path(folder).rglob("*.json")):
        if kind is None or load(file).kind == kind:
            yield file


def verify(folder: str | Path) -> list[tuple[Path, str]]:
    """Every file below ``folder`` with what is wrong with it, "" where nothing is.

    Arrays without their JSON, and files that are no artifacts at all, count as wrong; tables
    (``.csv``) and notes (``.md``) are left alone.
    """
    rows = []
    for file in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
        problem = ""
        if file.suffix == ".json":
            try:
                load(file)
            except AccessibilityError as error:
                problem = str(error)
        elif file.suffix == ".safetensors":
            if not file.with_suffix(".json").is_file():
                problem = f"{file} has no JSON beside it; {RESTORE}"
        elif file.suffix not in {".csv", ".md"}:
            problem = f"{file} is no artifact (only .json and .safetensors); move it elsewhere."
        rows.append((file, problem))
    return rows


def table(folder: str | Path) -> list[dict[str, Any]]:
    """One row per artifact below ``folder``: path, kind, model, seed, seconds, complete, date."""
    rows = []
    for file in find(folder):
        found = load(file)
        row = {"path": str(file.relative_to(folder)), "kind": found.kind}
        row |= {key: found.provenance[key] for key in ("model", "seed", "seconds", "date")}
        rows.append({**row, "complete": found.complete})
    return rows


def to_csv(rows: list[dict[str, Any]]) -> str:
    """Rows of equal keys as CSV text, None as an empty cell.

    >>> to_csv([{"m": 1, "n50": 9.5}, {"m": 2, "n50": None}])
    'm,n50\\n1,9.5\\n2,\\n'
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _base(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix in {".json", ".safetensors"}:
        return path.with_suffix("")
    if path.suffix in {".pkl", ".pickle", ".pt", ".pth", ".bin", ".npy", ".npz", ".joblib"}:
        raise AccessibilityError(
            f"{path} may hold a pickle and is not opened; artifacts are .json and .safetensors."
        )
    return path


def _with(base: Path, suffix: str) -> Path:
    return base.with_name(base.name + suffix)  # a dot may be part of the name


def _read(file: Path) -> bytes:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise AccessibilityError(f"{file} cannot be read ({error.strerror}); {RESTORE}") from None
    if raw.startswith(PICKLES):
        raise AccessibilityError(
            f"{file} holds a pickle or an archive and is not opened; {RESTORE}"
        )
    return raw


def _replace(file: Path, raw: bytes) -> None:
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_bytes(raw)
    beside.replace(file)


def _digest(content: Mapping[str, Any]) -> str:
    plain = {key: content[key] for key in FIELDS}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _machine() -> dict[str, Any]:
    versions: dict[str, str | None] = {}
    for name in ("numpy", "torch", "transformers"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "processors": os.cpu_count(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        **versions,
    }
