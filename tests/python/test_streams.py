# SPDX-License-Identifier: GPL-2.0-only
"""CUBIC and Vegas on recorded streams: call by call the windows of the kernel's own.

tests/streams/record.sh has recorded how the TCP of Linux 6.12 calls its tcp_cubic and tcp_vegas,
and what they do to the window. The same calls, made as kernel/hooks.c makes them, have to do the
same here.
"""

from __future__ import annotations

import functools
import lzma
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from dalbe_testbed.purecode import ROOT, load
from inputs import Q16

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = ROOT / "tests/streams"
STREAMS = {
    prefix: sorted(path.name for path in FOLDER.glob(f"{prefix}-*.csv.xz"))
    for prefix in ("cubic", "vegas", "vegas15")
}
GUEST_HZ = 100
CWR = 2  # from this state on TCP sets the window: enum tcp_ca_state
TX_START, CWND_RESTART, COMPLETE_CWR = range(3)  # enum tcp_ca_event
# Columns that are differences from the line before, in the order of the file.
SUMMED = (
    "now_us", "ticks", "una", "nxt", "delivered", "out_max", "mss", "cwnd_max", "state", "used",
    "paced", "burst_us", "cwnd", "ssthresh", "cwnd_cnt",
)  # fmt: skip
# Of these, the fields of struct tcp_path that have the same name.
PATH = [name for name in SUMMED if name not in ("used", "paced", "burst_us")]
WINDOW = ("cwnd", "ssthresh", "cwnd_cnt")


@functools.cache
def calls(stream: str) -> list[dict[str, Any]]:
    """Return each call: its arguments, the socket before it, and the window "after" it."""
    lines = lzma.decompress((FOLDER / stream).read_bytes()).decode().splitlines()
    columns = lines[0].split(",")
    assert columns[4:] == [*SUMMED, *(f"{name}_after" for name in WINDOW)]
    sums, found = dict.fromkeys(SUMMED, 0), []
    for line in lines[1:]:
        hook, *numbers = line.split(",")
        values = list(map(int, numbers))
        for name, value in zip(SUMMED, values[3:], strict=False):
            sums[name] += value
            if name != "now_us":
                sums[name] %= 1 << 32
        call = {"hook": hook, **dict(zip(columns[1:4], values, strict=False)), **sums}
        for name, value in zip(WINDOW, values[-3:], strict=True):
            sums[name] += value  # the next line's differences are from here
        call["after"] = tuple(sums[name] for name in WINDOW)
        found.append(call)
    return found


def of(call: dict[str, Any]) -> Iterator[str]:
    """Say what a call is an example of."""
    yield call["hook"]
    if call["hook"] == "avoid":
        if not call["used"]:
            yield "few"
        if call["arg"] > 2:
            yield "many"
        if call["paced"]:
            yield "paced"
    elif call["hook"] == "state":
        yield ("open", "disordered", "reduced", "recovers", "timeout")[call["arg"]]
    elif call["hook"] == "event" and call["arg"] <= COMPLETE_CWR:
        yield ("starts again", "starts slowly", "has reduced")[call["arg"]]


class Ours:
    """A sender that is called as the kernel's own was."""

    def __init__(self, pure: Any, base: str, *, controlled: bool) -> None:
        """Choose its base, and whether it is under a controller that wants w = 1 and phi = 1."""
        self.pure, self.controlled = pure, controlled
        self.base = pure.base(base)
        self.sender = pure.new("sender", heuristics__hystart=3)
        self.path = pure.new("tcp_path", srtt_us=1)

    def call(self, call: dict[str, Any]) -> tuple[int, int, int]:
        """Do what kernel/hooks.c does; return the window after it."""
        for name in PATH:
            setattr(self.path, name, call[name])
        self.path.cwnd_limited = call["used"]
        self.path.idle_ticks = call["idle_ticks"]
        getattr(self, call["hook"])(call)
        return self.path.cwnd, self.path.ssthresh, self.path.cwnd_cnt

    def init(self, call: dict[str, Any]) -> None:
        """dalbe_init(), and the end of dalbe_apply_goal()."""
        self.pure.sender_init(self.sender, self.path, call["una"] - 1)
        self.pure.sender_set_base(self.sender, self.path, self.base)
        if self.controlled:
            self.sender.control.w_q16 = self.sender.control.phi_q16 = Q16
            self.pure.sender_steer(self.sender, 0)

    def acked(self, call: dict[str, Any]) -> None:
        """dalbe_pkts_acked()."""
        sample = self.pure.new(
            "rtt_sample", rtt_us=call["rtt_us"], packets=call["arg"], paced=call["paced"],
            burst_us=call["burst_us"], now_us=call["now_us"], una=call["una"], cwnd=call["cwnd"],
            recovering=call["state"] >= CWR,
        )  # fmt: skip
        self.pure.pure_acked(self.sender, self.path, sample)

    def avoid(self, call: dict[str, Any]) -> None:
        """dalbe_cong_avoid()."""
        self.pure.pure_avoid(self.sender, self.path, call["arg"])

    def ssthresh(self, call: dict[str, Any]) -> None:
        """dalbe_ssthresh()."""
        assert self.pure.sender_ssthresh(self.sender, self.path) == call["arg"]

    def state(self, call: dict[str, Any]) -> None:
        """dalbe_set_state()."""
        if call["arg"] < CWR:
            self.pure.sender_end_repair(self.sender, self.path, call["arg"])
        elif self.pure.sender_count_loss(self.sender, self.path, call["arg"]):
            self.pure.sender_begin_repair(self.sender, self.path, call["arg"])

    def undo(self, call: dict[str, Any]) -> None:
        """dalbe_undo_cwnd()."""
        self.pure.sender_tell_base(self.sender, self.path, self.pure.BASE_UNDO)

    def event(self, call: dict[str, Any]) -> None:
        """dalbe_cwnd_event()."""
        if call["arg"] == TX_START:
            self.pure.sender_tell_base(self.sender, self.path, self.pure.BASE_TX_START)
        elif call["arg"] == CWND_RESTART:
            self.pure.sender_cwnd_restart(self.sender, self.path)
        elif call["arg"] == COMPLETE_CWR:
            self.pure.sender_complete_cwr(self.sender, self.path)


@pytest.fixture(scope="module")
def pure_of_guest(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Our code for a kernel with the ticks of the one that was recorded."""
    return load(tmp_path_factory.mktemp("pure"), f"-DHZ={GUEST_HZ}")


# Vegas has the alpha of tcp_vegas' defaults without a goal, and 15 at w = 1 and phi = 1.
CASES = [
    *((stream, "cubic", how) for stream in STREAMS["cubic"] for how in ("free", "w = 1", "beta")),
    *((stream, "vegas", "free") for stream in STREAMS["vegas"]),
    *((stream, "vegas", "w = 1") for stream in STREAMS["vegas15"]),
]


@pytest.mark.parametrize(("stream", "base", "how"), CASES)
def test_the_window_is_the_kernels_own(
    pure_of_guest: Any, stream: str, base: str, how: str
) -> None:
    ours = Ours(pure_of_guest, base, controlled=how != "free")
    ours.sender.heuristics.inflate_beta = how == "beta"
    for n, call in enumerate(calls(stream)):
        assert ours.call(call) == call["after"], (n, call)


@pytest.mark.parametrize("prefix", STREAMS)
def test_streams_hold_what_can_happen(prefix: str) -> None:
    seen = Counter(
        what for stream in STREAMS[prefix] for call in calls(stream) for what in of(call)
    )
    least = {
        "acked": 20_000, "avoid": 20_000, "few": 400, "many": 200, "paced": 1000, "undo": 3,
        "disordered": 30, "reduced": 10, "recovers": 40, "timeout": 5,
        "starts again": 30, "starts slowly": 3, "has reduced": 50,
    }  # fmt: skip
    assert {what: seen[what] for what, count in least.items() if seen[what] < count} == {}
