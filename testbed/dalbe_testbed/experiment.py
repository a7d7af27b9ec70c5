# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment file may say: the schema of testbed/experiments/*.toml.

Units are part of every key. Times are seconds of virtual time since T=0.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from dalbe_testbed.errors import TestbedError

MTU_BYTES = 1500

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
Seconds = Annotated[float, Field(ge=0, le=1e6)]


class Model(BaseModel):
    """Base of the schema: unknown keys are errors, nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Link(Model):
    """The bottleneck: a tail-drop queue in front of a link of fixed rate."""

    rate_mbps: Annotated[float, Field(gt=0, le=10_000)]
    rtt_ms: Annotated[float, Field(ge=1, le=60_000)]
    buffer_bdp: Annotated[float, Field(gt=0, le=100)] | None = None
    buffer_packets: Annotated[int, Field(ge=1, le=1_000_000)] | None = None

    @model_validator(mode="after")
    def _one_buffer(self) -> Link:
        if (self.buffer_bdp is None) == (self.buffer_packets is None):
            raise ValueError("give one of buffer_bdp and buffer_packets")
        return self

    @property
    def rate_bps(self) -> int:
        """Rate of the bottleneck in bits per second, Ethernet headers included."""
        return round(self.rate_mbps * 1e6)

    @property
    def queue_packets(self) -> int:
        """Length of the bottleneck's queue in packets of one MTU, at least 1."""
        if self.buffer_packets is not None:
            return self.buffer_packets
        assert self.buffer_bdp is not None
        bdp_bytes = self.rate_bps / 8 * self.rtt_ms / 1e3
        return max(1, int(bdp_bytes * self.buffer_bdp / MTU_BYTES))


class Background(Model):
    """D-ITG's Poisson traffic: UDP, exponential gaps, from each of both senders."""

    rate_mbps: Annotated[float, Field(gt=0, le=10_000)] = 0.5
    packet_bytes: Annotated[int, Field(ge=64, le=1472)] = 1450

    @property
    def packets_per_s(self) -> float:
        """Mean packets per second of one sender."""
        return self.rate_mbps * 1e6 / 8 / self.packet_bytes


class Goal(Model):
    """What dalbe is told: all of the flow's bytes, by deadline_s after its start."""

    deadline_s: Annotated[float, Field(gt=0, le=3.2e7)]


class Flow(Model):
    """One transfer, and the program that makes it."""

    name: Name
    kind: Literal["iperf", "rsync"]
    host: Literal["sender", "xsender"] = "sender"
    cc: Literal["cubic", "reno", "cdg", "vegas", "lp", "bbr", "dalbe_cdg"] = "cubic"
    start_s: Seconds = 0
    start_jitter_s: Annotated[float, Field(ge=0, le=60)] = 0
    duration_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    bytes: Annotated[int, Field(ge=1, lt=2**63)] | None = None
    goal: Goal | None = None
    g_ms: Annotated[float, Field(ge=0.002, le=125)] | None = None
    bwlimit_Bps: Annotated[int, Field(ge=1024)] | None = None  # noqa: N815 (unit)
    ipv6: bool = False

    @model_validator(mode="after")
    def _makes_sense(self) -> Flow:
        if self.kind == "rsync" and self.bytes is None:
            raise ValueError("an rsync flow needs bytes")
        if self.kind == "iperf" and (self.bytes is None) == (self.duration_s is None):
            raise ValueError("an iperf flow needs one of bytes and duration_s")
        if self.goal and (self.bytes is None or self.cc != "dalbe_cdg"):
            raise ValueError("a goal needs bytes and cc = 'dalbe_cdg'")
        if self.g_ms is not None and self.cc not in ("cdg", "dalbe_cdg"):
            raise ValueError("g_ms is for cc = 'cdg' or 'dalbe_cdg'")
        if self.bwlimit_Bps is not None and self.kind != "rsync":
            raise ValueError("bwlimit_Bps is for kind = 'rsync'")
        return self


class Experiment(Model):
    """One experiment: a link, its flows, and who contends for the flow in question."""

    name: Name
    title: str = ""
    link: Link
    duration_s: Annotated[float, Field(gt=0, le=1e6)]
    limit_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    bin_s: Annotated[float, Field(ge=0.01, le=60)] = 0.5
    background: Background | None = None
    flows: Annotated[list[Flow], Field(min_length=1)]
    seeds: Annotated[list[int], Field(min_length=1)] = [1]
    contenders: dict[Name, dict[Name, dict[str, Any]]] = {}

    @field_validator("flows")
    @classmethod
    def _unique_names(cls, flows: list[Flow]) -> list[Flow]:
        names = [flow.name for flow in flows]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two flows are called '{name}'")
        return flows

    @model_validator(mode="after")
    def _consistent(self, _info: ValidationInfo) -> Experiment:
        if self.limit_s is not None and self.limit_s < self.duration_s:
            raise ValueError("limit_s is before duration_s")
        if len({flow.g_ms for flow in self.flows if flow.cc == "cdg"}) > 1:
            raise ValueError("flows of cc = 'cdg' share one g_ms: it is a module parameter")
        names = {flow.name for flow in self.flows}
        for contender, changes in self.contenders.items():
            for flow in changes:
                if flow not in names:
                    raise ValueError(
                        f"contenders.{contender}.{flow}: no such flow; "
                        f"flows are {', '.join(sorted(names))}"
                    )
        return self

    @property
    def end_s(self) -> float:
        """When a run gives up waiting for transfers that are not done."""
        return self.duration_s if self.limit_s is None else self.limit_s

    def contender(self, name: str) -> Experiment:
        """Return the experiment as `name` runs it: its flows changed as the file says.

        A key set to "none" is removed from the flow. Raises TestbedError if there is
        no such contender or a change is not valid.
        """
        if name not in self.contenders:
            known = ", ".join(self.contenders) or "none"
            raise TestbedError(f"{self.name}: no contender '{name}'; there are: {known}")
        data = self.model_dump(exclude_unset=True)
        for flow in data["flows"]:
            for key, value in self.contenders[name].get(flow["name"], {}).items():
                if value == "none":
                    flow.pop(key, None)
                else:
                    flow[key] = value
        data["contenders"] = {}
        return parse(data, f"{self.name}: contender {name}")


def _explain(error: ValidationError, where: str) -> str:
    """Put the first of pydantic's errors in one line: file, key, what is allowed."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    kind, message = first["type"], first["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        message = "unknown key"
    elif kind == "missing":
        message = "missing; add it"
    elif kind == "literal_error":
        message = f"'{first['input']}' is not one of {first['ctx']['expected']}"
    elif not message.endswith(f"'{first['input']}'") and not isinstance(
        first["input"], dict | list
    ):
        message = f"{first['input']!r}: {message}"
    return f"{where}: {key}: {message}" if key else f"{where}: {message}"


def parse(data: dict[str, Any], where: str) -> Experiment:
    """Validate an experiment; `where` names it in messages. Raises TestbedError."""
    try:
        return Experiment.model_validate(data)
    except ValidationError as error:
        raise TestbedError(_explain(error, where)) from None


def override(data: dict[str, Any], setting: str) -> None:
    """Apply one --set KEY=VALUE to raw data, in place.

    KEY is a dotted path; flows are named, not counted: flows.file.bytes=1000000.
    VALUE is TOML, or else a string. Raises TestbedError on a path that leads nowhere.
    """
    path, equals, text = setting.partition("=")
    if not equals:
        raise TestbedError(f"--set {setting}: write it as key=value, e.g. link.rtt_ms=20")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *parents, last = path.split(".")
    node: Any = data
    for part in parents:
        if isinstance(node, list):
            node = next((item for item in node if item.get("name") == part), None)
        else:
            node = node.get(part)
        if not isinstance(node, dict | list):
            raise TestbedError(f"--set {setting}: there is no '{part}' in the experiment")
    if not isinstance(node, dict):
        raise TestbedError(f"--set {setting}: name a flow and one of its keys")
    node[last] = value


def load(path: Path, settings: list[str] | None = None) -> Experiment:
    """Read an experiment file and apply --set settings. Raises TestbedError."""
    try:
        data = tomllib.loads(path.read_text())
    except OSError as error:
        raise TestbedError(f"{path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise TestbedError(f"{path}: not TOML: {error}") from None
    for setting in settings or []:
        override(data, setting)
    return parse(data, path.name)
