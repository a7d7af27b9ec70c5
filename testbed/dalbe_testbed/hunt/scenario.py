# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios: a choice on each of AXES, in the words of sim/tools/grid.c, and as an experiment."""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dalbe_testbed.purecode import Pure

W = 0.01
PACKETS_MAX = 400_000  # of a simulation: some 50 ms of a processor
BITS = 12_000  # of a packet: 1500 bytes, as grid counts
FRAME = 1514 / 1500  # the testbed counts Ethernet headers in
SHORT_BYTES = (18_500, 185_000)  # a mean of grid's 50 packets, if their logarithm is uniform
DISCIPLINES = {"tail": "pfifo", "codel": "codel", "pie": "pie", "fq": "fq_codel"}  # in order
BASES = {"cdg": "cdg", "cubic": "cubic", "vegas": "vegas", "reno": "least"}

Value = float | str
Scenario = dict[str, Value]
Words = dict[str, str]


def _log(low: float, high: float) -> Callable[[random.Random], Value]:
    """Return a draw of numbers of two digits, whose logarithm is uniform."""
    return lambda dice: float(f"{math.exp(dice.uniform(math.log(low), math.log(high))):.2g}")


def _one(*values: Value) -> Callable[[random.Random], Value]:
    return lambda dice: dice.choice(values)


@dataclass(frozen=True)
class Axis:
    """A choice: what is plain; how others are drawn, and how often; no round number is above most.

    part = 0: it is fixed.
    """

    plain: Value
    draw: Callable[[random.Random], Value]
    part: float = 1.0
    most: float = math.inf

    def choose(self, dice: random.Random) -> Value:
        """Draw."""
        return self.draw(dice) if dice.random() < self.part else self.plain

    def simpler(self, value: Value) -> Iterator[Value]:
        """Yield what might do in value's place, the simplest first."""
        yield self.plain
        if isinstance(value, float) and value:
            ten = 10.0 ** math.floor(math.log10(value))
            there = (n for n in (ten, 2 * ten, 5 * ten, 10 * ten) if n <= self.most)
            yield min(there, key=lambda n: abs(math.log(n / value)))


# As the keys of grid, but for these: alone, beside and after are seconds; rev, short and udp are
# parts of the rate; the rate becomes step times as much, step_at into all the time.
AXES = {
    "rate": Axis(10.0, _log(1, 1000)),
    "rtt": Axis(50.0, _log(1, 300)),
    "buf": Axis(1.0, _log(0.125, 4)),
    "disc": Axis("tail", _one("codel", "pie", "fq"), 0.5),
    "ours": Axis(1.0, _one(*map(float, range(1, 9))), most=8),
    "theirs": Axis(1.0, _one(*map(float, range(5))), most=4),
    "their": Axis("cubic", _one("reno"), 0.2),
    "alone": Axis(20.0, _log(10, 60)),
    "beside": Axis(60.0, _log(10, 120)),
    "after": Axis(60.0, _log(10, 60)),
    "loss": Axis(0.0, _log(10, 10_000), 0.2),
    "jitter": Axis(0.0, _log(100, 10_000), 0.2),
    "delack": Axis(1.0, _one(0.0), 0.2),
    "stall": Axis(0.0, _log(5, 500), 0.2),
    "every": Axis(1000.0, _log(500, 10_000), 0.5),
    "rev": Axis(0.0, _log(0.1, 10), 0.2),
    "short": Axis(0.0, _log(0.01, 0.5), 0.2),
    "udp": Axis(0.0, _log(0.01, 0.8), 0.2, 0.8),
    "udpon": Axis(0.0, _log(10, 10_000), 0.5),
    "udpoff": Axis(1000.0, _log(10, 10_000), 0.5),
    "step": Axis(0.0, _log(0.1, 10), 0.2),
    "step_at": Axis(0.5, _log(0.1, 0.9)),
}
PARTS_OF = {"every": "stall", "udpon": "udp", "udpoff": "udpon"}  # nothing without these
ALWAYS = ("rate", "rtt", "buf", "disc", "ours", "theirs", "from", "to", "end")


def words(scenario: Scenario) -> Words:
    """Return what grid is told. Times, and then the rate, are cut to what may be simulated."""
    s = {key: value for key, value in scenario.items() if isinstance(value, float)}
    peak = max(1.0, s["step"])
    most_mbit = PACKETS_MAX * BITS / 1e6 / peak
    rate = min(s["rate"], 1000 / peak, most_mbit / (5 + 0.15 * s["rtt"]))  # 150 round trips
    times = [s["alone"], s["beside"], s["after"]]
    cut = min(1.0, most_mbit / rate / sum(times))
    start, to, end = (cut * sum(times[:n]) for n in (1, 2, 3))
    told: dict[str, Value] = {
        **s, **{key: s[key] * rate for key in ("rev", "short", "udp")},
        **{key: round(s[key]) for key in ("loss", "jitter", "stall", "udpon", "udpoff")},
        "rate": rate, "disc": scenario["disc"], "from": start, "to": to, "end": end,
        "every": round(max(s["every"], 2 * s["stall"])),
        "their": "reno" if scenario["their"] == "reno" else 0,
    }  # fmt: skip
    told["step"] = f"{s['step_at'] * end:.4g}:{s['step'] * rate:.4g}" if s["step"] else 0
    more = ("their", "loss", "jitter", "stall", "every", "rev", "short", "udp", "udpon", "udpoff")
    shown = {
        key: value if isinstance(value, str) else f"{value:.5g}"
        for key, value in ((key, told[key]) for key in (*ALWAYS, *more, "step"))
        if key in ALWAYS or (value and told.get(PARTS_OF.get(key, key)))
    }
    return shown if s["delack"] else shown | {"delack": "0"}


def line(told: Words, **more: object) -> str:
    """Return words as one line, the arguments of grid."""
    return " ".join(f"{key}={value}" for key, value in (told | more).items())


def pps(mbit: float) -> int:
    """Return packets per second."""
    return int(mbit * 1e6 / BITS)


def buffer_packets(told: Words) -> int:
    """Return what the bottleneck's buffer holds."""
    return max(4, int(float(told["buf"]) * pps(float(told["rate"])) * float(told["rtt"]) / 1e3))


def drive_in(pure: Pure, told: Words, seed: int, base: str | None, w: float = W) -> Any:
    """Return what grid makes of these words; base: one of BASES in the scavenger's place."""

    def get(key: str) -> float:
        return float(told.get(key, 0))

    def ms(key: str) -> int:
        return int(get(key) * 1000 + 0.5)

    made = pure.new(
        "drive_in", seed=seed, rate_pps=pps(get("rate")), base_us=ms("rtt"),
        buffer=buffer_packets(told), discipline=[*DISCIPLINES].index(told["disc"]),
        ours=int(get("ours")), theirs=int(get("theirs")), w_q16=int(w * 65_536),
        hosts=int(get("hosts")),
        from_ms=ms("from"), to_ms=ms("to"), end_ms=ms("end"), loss_ppm=int(get("loss")),
        jitter_us=int(get("jitter")), stall_ms=int(get("stall")), stall_every_ms=int(get("every")),
        delayed_acks="delack" not in told, reverse_pps=pps(get("rev")), short_pps=pps(get("short")),
        short_packets=50, udp_pps=pps(get("udp")), udp_on_ms=int(get("udpon")),
        udp_off_ms=int(get("udpoff")),
    )  # fmt: skip
    made.reverse_buffer = max(4, int(made.reverse_pps * made.base_us / 1e6))
    if base:
        made.base = pure.base(BASES[base])
    if "their" in told:
        made.their_base = pure.base(BASES[told["their"]])
    if "step" in told:
        at_s, mbit = map(float, told["step"].split(":"))
        made.steps[0].at_ms, made.steps[0].rate_pps = int(at_s * 1000 + 0.5), pps(mbit)
    return made


def experiment(told: Words, name: str, title: str) -> str | None:
    """Return it as an experiment, TOML, or None: the testbed cannot do all.

    It has no UDP that ends, no rate that changes, no receiver without delayed ACKs, and on the way
    back the link's own rate and buffer or nothing.
    """
    rate, start = float(told["rate"]), float(told["from"])
    if {"udp", "step", "delack"} & told.keys() or told.get("rev", told["rate"]) != told["rate"]:
        return None
    ours = int(told["ours"])
    link: dict[str, object] = {
        "rate_mbps": round(rate * FRAME, 5), "rtt_ms": float(told["rtt"]),
        "buffer_packets": buffer_packets(told), "qdisc": f'"{DISCIPLINES[told["disc"]]}"',
    }  # fmt: skip
    if "loss" in told:
        link["loss"] = int(told["loss"]) / 1e6
    if "jitter" in told:  # theirs is a mean
        link["jitter_ms"] = float(told["jitter"]) / 2e3
    if "stall" in told:
        every_s = float(told["every"]) / 1e3
        link["stall"] = f'{{ host = "router", for_ms = {told["stall"]}, every_s = {every_s:g} }}'
    if "rev" in told:
        link["reverse_flows"] = 1
    span = {"start_s": start, "duration_s": round(float(told["to"]) - start, 5)}
    flow = {"name": '"ours"', "kind": '"iperf"', "host": '"sender"'}
    tables: list[tuple[str, dict[str, object]]] = [("[link]", link)]
    if "short" in told:
        load = round(float(told["short"]) / rate, 5)
        sizes = dict(zip(("min_bytes", "max_bytes"), SHORT_BYTES, strict=True))
        times = {"start_s": start, "stop_s": float(told["to"])}
        tables.append(("[short_flows]", {"load": load, **sizes, **times}))
    run_s = float(told["end"])
    counted = {"count": ours, "cc": '"dalbe_cdg"', "w": W, "duration_s": run_s}
    tables.append(("[[flows]]", flow | counted))
    if told["theirs"] != "0":
        who = {"name": '"theirs"', "host": '"xsender"', "count": int(told["theirs"])}
        cc = f'"{told.get("their", "cubic")}"'
        tables.append(("[[flows]]", flow | who | {"cc": cc} | span))
    for n in range(1, ours + 1):
        tables.append((f"[contenders.cubic.ours{n}]", {"cc": '"cubic"', "w": '"none"'}))
    head = [
        f"# Found by make hunt: {title}",
        f"# {line(told, w=W)}",
        "# To compare: --contender cubic; and without ours:",
        "# --set flows.ours.count=0 --set contenders=none",
        *(f"{key} = {value}" for key, value in (("name", f'"{name}"'), ("duration_s", run_s))),
    ]
    for title_line, table in tables:
        head += ["", title_line, *(f"{key} = {value}" for key, value in table.items())]
    return "\n".join(head) + "\n"
