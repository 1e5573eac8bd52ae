"""One file that a run of the engine goes on from."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from accessibility_lib.cramming.config import Config
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import LoadedModel


def fingerprint(
    loaded: LoadedModel,
    targets: Sequence[tuple[int, ...]],
    m: int,
    config: Config,
    seeds: Tensor,
) -> str:
    """What a checkpoint must agree in: model, targets, m, configuration, starts."""
    identity = [loaded.sha256, targets, m, asdict(config), seeds.tolist()]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


@dataclass(frozen=True)
class Checkpoint:
    """A safetensors file: tensors, and JSON in its metadata.  Replaced at once, so it is whole."""

    path: str | Path | None
    identity: str

    def __bool__(self) -> bool:
        return self.path is not None

    def read(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Tensors and the rest, or None where there is no file yet."""
        if self.path is None or not Path(self.path).is_file():
            return None
        try:
            with safe_open(self.path, "pt") as file:
                metadata = file.metadata() or {}
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except SafetensorError as error:
            raise AccessibilityError(
                f"the checkpoint {self.path} cannot be read ({error}); delete it to start again."
            ) from None
        if metadata.get("identity") != self.identity:
            raise AccessibilityError(
                f"the checkpoint {self.path} is of another model, targets, m, configuration or "
                "seed; give another path, or delete it to start again."
            )
        return tensors, json.loads(metadata["state"])

    def write(self, state: tuple[dict[str, Tensor], dict[str, Any]]) -> None:
        """Replace the file."""
        path = Path(self.path or "")
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        metadata = {"identity": self.identity, "state": json.dumps(state[1])}
        save_file({k: t.contiguous() for k, t in state[0].items()}, beside, metadata=metadata)
        beside.replace(path)
