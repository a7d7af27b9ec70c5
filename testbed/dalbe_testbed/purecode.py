# SPDX-License-Identifier: GPL-2.0-only
"""The module's own pure code as a shared library: what is tested and simulated is what is shipped.

The declarations are read from the headers by way of the preprocessor, so that no structure is
described twice. The library is built under UBSAN: undefined behaviour ends the program.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from cffi import FFI

from dalbe_testbed.paths import TESTBED

ROOT = TESTBED.parent
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


class Pure:
    """The library's functions and constants as attributes, and structures to hand to them."""

    def __init__(self, ffi: FFI, lib: Any) -> None:
        """Wrap cffi's handle of the types, and the library."""
        self.ffi, self._lib = ffi, lib

    def __getattr__(self, name: str) -> Any:
        """Return what the library calls so."""
        return getattr(self._lib, name)

    def new(self, struct: str, **fields: Any) -> Any:
        """Return a pointer to a zeroed struct with these fields set."""
        return self.ffi.new(f"struct {struct} *", fields)


def load(build_dir: Path) -> Pure:
    """Build the library in build_dir and load it. It stays there while it is in use."""
    ffi = FFI()
    ffi.cdef(TYPES + declarations())
    library = build_dir / "libdalbe_pure.so"
    compiler("-shared", "-fPIC", "-o", library, *(ROOT / source for source in SOURCES))
    return Pure(ffi, ffi.dlopen(str(library)))
