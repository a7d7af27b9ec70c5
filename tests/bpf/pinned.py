#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The numbers of the programs and maps that pinned links hold: usage: pinned.py LINK..."""

import ctypes
import os
import sys
from pathlib import Path

BPF, OBJ_GET = {"x86_64": 321, "aarch64": 280}[os.uname().machine], 7
libc = ctypes.CDLL(None, use_errno=True)

for path in sys.argv[1:]:
    name = ctypes.create_string_buffer(path.encode())
    attr = (ctypes.c_uint64 * 2)(ctypes.addressof(name))
    fd = libc.syscall(BPF, OBJ_GET, attr, ctypes.sizeof(attr))
    if fd < 0:
        sys.exit(f"{path}: {os.strerror(ctypes.get_errno())}")
    info = Path(f"/proc/self/fdinfo/{fd}").read_text().split()
    print(path, [info[i + 1] for i, w in enumerate(info) if w in ("prog_id:", "map_id:")])
