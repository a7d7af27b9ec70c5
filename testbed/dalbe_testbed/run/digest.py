# SPDX-License-Identifier: GPL-2.0-only
"""Hashes of files, for manifest.json."""

import hashlib
from functools import cache
from pathlib import Path


@cache
def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal; read once per process."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
