# SPDX-License-Identifier: GPL-2.0-only
"""The module's own pure code as a shared library: what is tested and simulated is what is shipped.

The declarations are read from the headers by way of the preprocessor, so that no structure is
described twice. The library is built under UBSAN: undefined behaviour ends the program.
"""

import functools
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from cffi import FFI

from dalbe_testbed.paths import TESTBED

ROOT = TESTBED.parent
CORE, PORT, PURE = ROOT / "core", ROOT / "port/user", ROOT / "sim/pure.h"
SOURCES = (*sorted(CORE.rglob("*.c")), *sorted(PURE.parent.glob("*.c")))
CFLAGS = (
    f"-I{ROOT}", f"-I{ROOT}/port/user", "-std=gnu11", "-g", "-O1", "-Wall", "-Werror",
    "-fsanitize=undefined", "-fno-sanitize-recover=all",
)  # fmt: skip
TYPES = """
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef int16_t s16; typedef int32_t s32; typedef int64_t s64;
typedef int port_lock_t;
"""
LINE_MARKER = re.compile(r'^# \d+ "([^"]+)".*\n', re.MULTILINE)
INLINE = re.compile(r"^static inline .*?^}\n", re.MULTILINE | re.DOTALL)


def compiler(*args: str | Path) -> str:
    """Run the C compiler with CFLAGS and args, return its output."""
    command = [os.environ.get("CC", "gcc"), *CFLAGS, *map(str, args)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def declarations(*flags: str) -> str:
    """Return what the headers of core/ declare, with every macro expanded."""
    _, *parts = LINE_MARKER.split(compiler("-E", *flags, PURE))
    headers = (Path(name).resolve() for name in parts[::2])
    texts = zip(headers, parts[1::2], strict=True)
    ours = "".join(
        text for path, text in texts
        if path in (PURE, PORT / "port_path.h") or CORE in path.parents
    )  # fmt: skip
    # cffi takes what is const for a number that it cannot know
    return INLINE.sub("", ours).replace("extern const struct", "extern struct")


class Pure:
    """The library's functions and constants as attributes, and structures to hand to them."""

    def __init__(self, ffi: FFI, lib: Any) -> None:
        """Wrap cffi's handle of the types, and the library."""
        self.ffi, self._lib = ffi, lib

    def __getattr__(self, name: str) -> Any:
        """Return what the library calls so."""
        return getattr(self._lib, name)

    def base(self, name: str) -> Any:
        """Return a pointer to the base congestion control of this name, such as "vegas"."""
        return self.ffi.addressof(self._lib, f"{name}_base")

    def new(self, struct: str, **fields: Any) -> Any:
        """Return a pointer to a zeroed struct with these fields set; a__b is field b of field a."""
        new = self.ffi.new(f"struct {struct} *")
        for name, value in fields.items():
            *path, last = name.split("__")
            setattr(functools.reduce(getattr, path, new), last, value)
        return new


def load(build_dir: Path, *flags: str) -> Pure:
    """Build the library in build_dir and load it. It stays there while it is in use.

    flags are for the compiler: -DHZ=100 makes it that of a kernel with so many ticks per second.
    """
    library = build_dir / "libdalbe_pure.so"
    compiler("-shared", "-fPIC", "-o", library, *flags, *SOURCES)
    return wrap(library, *flags)


def wrap(library: Path, *flags: str) -> Pure:
    """Load a library that has the functions of these headers."""
    ffi = FFI()
    ffi.cdef(TYPES + declarations(*flags))
    return Pure(ffi, ffi.dlopen(str(library)))
