# SPDX-License-Identifier: GPL-2.0-only
"""A toy base under control.c's control: its rate is proportional to mu, up to the capacity.

The base follows its model x = K / P to within a factor: at mu = 1 it sends at fair_Bps, where the
model says fair_Bps / model_error. Everything else (phi = 1, enough losses to judge by, a contended
path) is as plain as can be, and can be overridden interval by interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import reference as ref

Q16, Q40 = 2**16, 2**40
PRICE_Q40 = Q40 // 100  # paid at mu = 1


@dataclass
class Interval:
    """The state that an update left behind."""

    target_Bps: int  # noqa: N815  F(6) for the interval that has ended
    rate_Bps: int  # noqa: N815
    w: float
    status: int
    meant_Bps: float = 0.0  # noqa: N815  what MBC, with its reserve, meant to be sent


class Transfer:
    """A goal, the base that works for it, and a clock."""

    def __init__(
        self,
        pure: Any,
        *,
        size: int,
        window_s: float = 3600,
        controller: int | None = None,
        after_deadline: int = 0,
        wmin: float = 0.01,
        unlimited: bool = False,
        fair_Bps: float = 1e6,  # noqa: N803  bytes/s at w = 1, in competition
        model_error: float = 1.0,
        start_s: float = 0.0,
    ) -> None:
        """Set the goal at start_s; the controller is MBC unless given."""
        self.pure, self.fair_Bps, self.model_error = pure, fair_Bps, model_error
        self.now_s = self.start_s = start_s
        self.finished_s = math.inf  # the first update that found it done
        self.bytes_done = 0.0
        self.config = pure.new(
            "control_config",
            controller=pure.CONTROLLER_MBC if controller is None else controller,
            after_deadline=after_deadline,
            unlimited_increase=unlimited,
            wmin_q16=round(wmin * Q16),
        )
        self.d = pure.new("control")
        start_ns, end_ns = round(start_s * 1e9), round((start_s + window_s) * 1e9)
        pure.control_start(self.d, self.config, size, 0, start_ns, end_ns)
        self._price_q40 = pure.ffi.callback("u64(void *, u64)", self._model)
        self.model = pure.new("control_model", model_q40=self._price_q40)

    def _model(self, _arg: Any, rate_Bps: int) -> int:  # noqa: N803
        return min(round(PRICE_Q40 * self.fair_Bps / self.model_error / max(rate_Bps, 1)), 2**63)

    @property
    def finished(self) -> float:
        """When it was done, in parts of the time until its deadline; infinite: not yet."""
        return (self.finished_s - self.start_s) / self._length_s

    @property
    def _length_s(self) -> float:
        return self.d.goal.deadline_ns / 1e9 - self.start_s

    @property
    def mu(self) -> float:
        """F(26)."""
        return float(self.pure.control_mu_q16(self.d)) / Q16

    def resize(self, size: int) -> None:
        """Change the goal's bytes, now."""
        now_ns = round(self.now_s * 1e9)
        self.pure.control_change_goal(self.d, size, now_ns, self.d.goal.deadline_ns)

    def step(self, *, rate_Bps: float | None = None, **sample: Any) -> Interval:  # noqa: N803
        """Send for one Tw, at the rate that mu gives or at rate_Bps; then update.

        Further fields override those of struct control_sample.
        """
        d, target_Bps = self.d, self.d.target_Bps  # noqa: N806
        tw_s = self.pure.control_tw_ns(d, 50_000) / 1e9
        self.now_s += tw_s
        self.bytes_done += tw_s * (self.fair_Bps * self.mu if rate_Bps is None else rate_Bps)
        fields: dict[str, Any] = {
            "now_ns": round(self.now_s * 1e9),
            "elapsed_ns": round(tw_s * 1e9),
            "bytes_done": int(self.bytes_done),
            "price_q40": PRICE_Q40,
            "price_standard_q40": PRICE_Q40,
            "srtt_us": 50_000,
            "rounds": 200,
            "losses": 4,
            "others_seen": True,
        }
        self.pure.control_update(d, self.pure.new("control_sample", **fields | sample), self.model)
        if d.status == self.pure.STATUS_DONE:
            self.finished_s = min(self.finished_s, self.now_s)
        needed = target_Bps / self.fair_Bps
        meant = min(max(needed, ref.reserve(needed)), 1) * self.fair_Bps
        return Interval(target_Bps, d.rate_Bps, d.w_q16 / Q16, d.status, meant)

    def steps(self, count: int, **kwargs: Any) -> list[Interval]:
        """Do that so many times."""
        return [self.step(**kwargs) for _ in range(count)]

    def until(self, share: float, **kwargs: Any) -> list[Interval]:
        """Do that until this share of the window is over."""
        end_s, intervals = self.start_s + share * self._length_s, []
        while self.now_s < end_s:
            intervals.append(self.step(**kwargs))
        return intervals
