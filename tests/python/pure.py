# SPDX-License-Identifier: GPL-2.0-only
"""The module's own pure code as a shared library.

The declarations are read from the headers by way of the preprocessor, so that no structure is
described twice. The library is built under UBSAN: undefined behaviour ends the test run.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from cffi import FFI

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ("cdg.h", "cubic.h", "effect.h", "owd.h", "dalbe.h", "pure.h")
SOURCES = ("cdg.c", "cubic.c", "effect.c", "owd.c", "dalbe.c", "tests/user/pure.c")
CFLAGS = (
    f"-I{ROOT}", "-std=gnu11", "-g", "-O1", "-Wall", "-Werror",
    "-fsanitize=undefined", "-fno-sanitize-recover=all",
)  # fmt: skip
TYPES = """
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef int32_t s32; typedef int64_t s64;
"""
LINE_MARKER = re.compile(r'# \d+ "([^"]+)"')


def compiler(*args: str | Path) -> str:
    """Run the C compiler with CFLAGS and args, return its output."""
    command = [os.environ.get("CC", "gcc"), *CFLAGS, *map(str, args)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def declarations() -> str:
    """Return what HEADERS declare, with every macro expanded."""
    wanted, lines = False, []
    for line in compiler("-E", ROOT / "tests/user/pure.h").splitlines():
        if marker := LINE_MARKER.match(line):
            wanted = Path(marker[1]).name in HEADERS
        elif wanted:
            lines.append(line)
    return "\n".join(lines)


def load(build_dir: Path) -> tuple[FFI, Any]:
    """Build the library in build_dir; return cffi's handle of its types, and the library."""
    ffi = FFI()
    ffi.cdef(TYPES + declarations())
    library = build_dir / "libdalbe_pure.so"
    compiler("-shared", "-fPIC", "-o", library, *(ROOT / source for source in SOURCES))
    return ffi, ffi.dlopen(str(library))
