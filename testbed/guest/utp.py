#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""One end of a transfer by libtorrent over uTP, whose congestion control is LEDBAT.

usage: utp.py receive|send ADDRESS PORT BYTES SECONDS DIR

The receiver listens at ADDRESS and PORT, until it is killed. The sender connects to it, and stops
after SECONDS. Both know the torrent: so many bytes of zeros, rounded up to whole pieces, which the
sender has as a hole in a file in DIR, and of which the receiver makes one. No tracker and no other
peer is asked for.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from pathlib import Path

import libtorrent as lt

# The torrent has 20 bytes for each piece, 60 kB for a minute at 100 Mbit/s. Half: twice as many.
# Twice: a slow flow ends one, and asks for the next, less often.
PIECE_BYTES = 1 << 18

# So often the receiver makes a hole of the zeros that have come, which would fill the guest's
# memory: at 100 Mbit/s 60 MB. Half: twice as many processes. Twice: twice the memory.
PUNCH_S = 5

SETTINGS = {
    "alert_mask": 0,
    "enable_dht": False,
    "enable_lsd": False,
    "enable_natpmp": False,
    "enable_upnp": False,
    "enable_incoming_tcp": False,
    "enable_outgoing_tcp": False,
    "in_enc_policy": 2,  # none
    "out_enc_policy": 2,
    "unchoke_slots_limit": -1,  # all peers, at once
    "aio_threads": 1,
    "hashing_threads": 1,
}


def main() -> None:
    """Play that end."""
    if len(sys.argv) != 7:  # noqa: PLR2004
        sys.exit(__doc__)
    end, address, port, size, seconds, where = sys.argv[1:]
    sends, directory = end == "send", Path(where)
    directory.mkdir(parents=True, exist_ok=True)
    zeros = directory / "zeros"
    pieces = -(-int(size) // PIECE_BYTES)
    piece = hashlib.sha1(bytes(PIECE_BYTES)).digest()
    info = {
        b"name": b"zeros",
        b"piece length": PIECE_BYTES,
        b"length": pieces * PIECE_BYTES,
        b"pieces": piece * pieces,
    }

    torrent = lt.add_torrent_params()
    torrent.ti = lt.torrent_info({b"info": info})
    torrent.save_path = str(directory)
    flags = lt.torrent_flags
    torrent.flags = flags.disable_dht | flags.disable_lsd | flags.disable_pex
    if sends:
        with zeros.open("wb") as file:
            file.truncate(pieces * PIECE_BYTES)
        torrent.flags |= flags.seed_mode
    listen = "0.0.0.0:0" if sends else f"{address}:{port}"
    session = lt.session(SETTINGS | {"listen_interfaces": listen})
    handle = session.add_torrent(torrent)
    if sends:
        handle.connect_peer((address, int(port)))
        time.sleep(float(seconds))
        return
    punch = ["fallocate", "--punch-hole", "--length", str(pieces * PIECE_BYTES), str(zeros)]
    while True:
        time.sleep(PUNCH_S)
        if zeros.exists():
            subprocess.run(punch, check=True)


if __name__ == "__main__":
    main()
