#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write test vectors for the KUnit tests: random inputs and what the reference makes of them.

The kernel has no floating point, so the double-precision reference speaks at build time. Each
table carries its tolerance, derived below from the fixed-point formats and never from the code's
answers: inputs are quantised before the reference sees them, so only the arithmetic differs.

Same seed, same vectors. Standard library only: building a module must not need a venv.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
import reference as ref

COUNT = 2500  # vectors per function
U32_MAX, U64_MAX = 2**32 - 1, 2**64 - 1
Q16, Q32, Q40 = 2**16, 2**32, 2**40

# The error that fixed.h promises of one fp_mul_div(), which keeps 32 bits of each operand.
MUL_DIV_ERROR = 2**-29
# The paper's decimal constants as Q16 numbers: 0.05 is 3277/65536, 0.1 is 6554/65536, Ki = 0.03 is
# 1966/65536; off by 6.2e-5 of themselves at most.
CONSTANT_ERROR = 6.2e-5

Row = tuple[int | tuple[int, ...], ...]


def log_uniform(rng: random.Random, low: int, high: int) -> int:
    """Return a whole number whose logarithm is uniform: every order of magnitude alike."""
    return min(high, int(math.exp(rng.uniform(math.log(low), math.log(high + 1)))))


def mul_div(rng: random.Random) -> Row:
    """a * b / c in whole numbers of any length; exact where all fit in 32 bits."""
    a, b, c = (rng.getrandbits(rng.randint(0, 64)) for _ in range(3))
    exact = min(a * b // c, U64_MAX) if c else min(a * b, 1) * U64_MAX
    small = max(a, b, c) <= U32_MAX
    return a, b, c, exact, 0 if small else math.ceil(exact * MUL_DIV_ERROR) + 1


def probability_error(sum_us: int, g_ns: int) -> float:
    """Return how far C(4) may be off.

    exp()'s series ends with the square of d <= ln(2)/32, an error of d^3/6. x = g/G is rounded to
    2^-26, and down by one part in the scale 1000 / (8 G) in Q40. Then some units of Q32.
    """
    x = sum_us / ref.WINDOW * 1000 / g_ns
    d = min(x, math.log(2) / 32)
    scale_q40 = 1000 * Q40 // (ref.WINDOW * g_ns)
    return d**3 / 6 * math.exp(d - x) + (x / scale_q40 + 2**-26) * math.exp(-x) + 4 / Q32


def probability(rng: random.Random) -> Row:
    """C(4), for a sum of gradients in us and G in ns."""
    sum_us = log_uniform(rng, 1, 2**31 - 1)
    g_ns = log_uniform(rng, 2000, 125_000_000)
    expected = ref.backoff_probability(sum_us, g_ns / 1e6)
    return sum_us, g_ns, round(expected * Q32), math.ceil(probability_error(sum_us, g_ns) * Q32)


SUMS_PER_PRICE = 4


def delay_price(rng: random.Random) -> Row:
    """The price of delay at G, from gradients in the middle of a histogram bin.

    In the middle the histogram loses nothing: what is left are the error of the probabilities,
    whose mean is kept to 2^-24, and beta, which is 724/1024: 2.5e-4 of 1 - beta, 3e-4 of its
    weight.
    """
    sums = tuple(rng.choice((5, 7)) << rng.randint(3, 26) for _ in range(SUMS_PER_PRICE))
    g_ns = log_uniform(rng, 2000, 125_000_000)
    expected = ref.delay_price(sums, g_ns / 1e6)
    error = sum(probability_error(s, g_ns) for s in sums) / len(sums) + 2**-23
    error = error * ref.cut_weight(1 - ref.BETA) + 3.1e-4 * expected
    return sums, g_ns, round(expected * Q40), math.ceil(error * Q40)


def rate_price(rng: random.Random) -> Row:
    """F(12) for CDG, in Q40; bytes per RTT are a Q16 number, and none of it is no rate at all."""
    rate = log_uniform(rng, 1, 50_000_000_000)
    mss = rng.choice((88, 536, 1220, 1448, 8948, 65483))
    rtt_us = log_uniform(rng, 10, 60_000_000)
    expected = ref.rate_price(rate, mss, rtt_us / 1e6) * Q40
    per_rtt_q16 = rate * rtt_us * Q16 // 10**6
    if per_rtt_q16 == 0:
        return rate, mss, rtt_us, U64_MAX, 0
    error = 2 * MUL_DIV_ERROR + (1 / per_rtt_q16 if expected < U64_MAX else 0)
    expected = min(round(expected), U64_MAX)
    return rate, mss, rtt_us, expected, math.ceil(expected * error) + 1


def target_rate(rng: random.Random) -> Row:
    """F(6), whole bytes/s: 1 byte to 2^63 within 1 ms to 1 year."""
    size = log_uniform(rng, 1, 2**63)
    left_ns = log_uniform(rng, 10**6, 365 * 86400 * 10**9)
    expected = min(int(ref.target_rate(size, left_ns / 1e9)), U64_MAX)
    return size, left_ns, expected, math.ceil(expected * MUL_DIV_ERROR) + 1


def limit(rng: random.Random) -> Row:
    """F(19); the step is rounded down to one unit of Q16."""
    old, new = (log_uniform(rng, 1, 1024 * Q16) for _ in range(2))
    if rng.random() < 0.5:
        new = min(round(old * rng.uniform(0.9, 1.2)) + 1, U32_MAX)
    expected = round(ref.limit_increase(old, new, ref.L_W))
    return old, new, expected, math.ceil(ref.L_W * new * CONSTANT_ERROR) + 1


def pid(rng: random.Random) -> Row:
    """F(7) to F(9), in Q16.

    eps is rounded twice. Ki * Tw and Kd / Tw are constants rounded to a unit of Q16, which the
    error (up to 16, its change up to 17) multiplies.
    """
    w = log_uniform(rng, 65, Q16)
    target, rate = (log_uniform(rng, 1, 50_000_000_000) for _ in range(2))
    if rng.random() < 0.5:
        rate = max(1, round(target * rng.uniform(0.3, 3)))
    tw_ns = log_uniform(rng, 10**8, 600 * 10**9)
    integral, error = rng.randint(0, Q16), rng.randint(-Q16, Q16)

    state = ref.Pid(integral / Q16, error / Q16)
    tw_s = tw_ns / 1e9
    u = state.update(w / Q16, target, rate, tw_s)
    gain = ref.KP + ref.KI * tw_s + ref.KD / tw_s
    units = 2 * gain + 3  # eps, then one per term
    units += abs(state.error) * (1 + ref.KI * tw_s * Q16 * CONSTANT_ERROR)
    units += abs(state.error - error / Q16) * (1 + ref.KD / tw_s * Q16 * CONSTANT_ERROR)
    return (
        w,
        target,
        rate,
        tw_ns,
        integral,
        error,
        round(u * Q16),
        round(state.integral * Q16),
        round(state.error * Q16),
        math.ceil(units),
    )


def mbc_weight(rng: random.Random) -> Row:
    """F(14), in Q16: two fp_mul_div(), and a unit for each."""
    price, model = (log_uniform(rng, 1, 2**60) for _ in range(2))
    if rng.random() < 0.5:
        model = min(max(1, round(price * rng.uniform(0.3, 30))), U64_MAX)
    phi, trim = log_uniform(rng, Q16, 1024 * Q16), log_uniform(rng, Q16 // 8, 8 * Q16)
    expected = min(ref.mbc_weight(price, phi / Q16, model, trim / Q16) * Q16, U32_MAX)
    return price, phi, model, trim, round(expected), math.ceil(expected * 2 * MUL_DIV_ERROR) + 2


def mbc_trim(rng: random.Random) -> Row:
    """1 + eps in Q16: the error's unit, a quarter of it and the product's, times at most 8."""
    trim = log_uniform(rng, Q16 // 8, 8 * Q16)
    target = log_uniform(rng, 1, 50_000_000_000)
    rate = max(0, round(target * rng.uniform(-0.1, 3)))
    expected = ref.mbc_trim(trim / Q16, target, rate)
    return trim, target, rate, round(expected * Q16), math.ceil(1.5 * trim / Q16) + 1


def phi(rng: random.Random) -> Row:
    """F(25) with F(19), in Q16."""
    old = log_uniform(rng, Q16, 1024 * Q16)
    price, std = (log_uniform(rng, 1, 2**50) for _ in range(2))
    match rng.randrange(4):
        case 0:
            std = 0
        case 1 | 2:
            std = max(1, round(price / (old / Q16) * rng.uniform(0.7, 1.2)))
    expected = ref.phi(old / Q16, price, std)
    wanted = ref.price_ratio(price, std)
    error = wanted * (MUL_DIV_ERROR + ref.L_PHI * CONSTANT_ERROR)
    return old, price, std, round(expected * Q16), math.ceil(error * Q16) + 2


SAMPLE, ROUND, BACKOFF_DONE, RESTART = range(4)


def gradient_steps(rng: random.Random) -> Iterator[Row]:
    """Connections' RTT samples and the sum after each round, C(1) to C(3), in whole us.

    Sums are whole numbers; the extrapolated ones are rounded towards 0.
    """
    rounds = 0
    while rounds < COUNT:
        yield RESTART, 0, 0, 0, 0, 0
        model = ref.GradientFilter()
        base_us = log_uniform(rng, 10, 30_000_000)
        for _ in range(rng.randint(4, 40)):
            queue_us = log_uniform(rng, 1, base_us)
            for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 9))):
                rtt_us = base_us + rng.randint(0, queue_us)
                if rng.random() < 0.03:
                    rtt_us = rng.choice((0, -1))
                pkts = rng.choice((1, 1, 1, 2, 2, 3))
                sacked = rng.random() < 0.15
                model.sample(rtt_us, pkts, sacked)
                yield SAMPLE, rtt_us, pkts, sacked, 0, 0
            if rng.random() < 0.1:
                model.backoff_done()
                yield BACKOFF_DONE, 0, 0, 0, 0, 0
                continue
            complete = len(model.gradients) >= ref.WINDOW - 1
            yield ROUND, 0, 0, 0, round(model.end_round()), 0 if complete else 1
            rounds += 1


def exp_bits() -> Iterator[Row]:
    """exp(-2^i) for bit i of a Q26 number, as Q64: the factors of any exp(-x)."""
    with localcontext() as context:
        context.prec = 60
        for i in range(31):
            yield (int((-(Decimal(2) ** (i - 26))).exp() * 2**64),)


def rows(function: Callable[[random.Random], Row]) -> Callable[[random.Random], Iterator[Row]]:
    """Return a table of COUNT rows of the function's."""
    return lambda rng: (function(rng) for _ in range(COUNT))


# Per test file: its tables with their columns, and where the rows come from.
TABLES = {
    "fixed": {
        "mul_div": ("u64 a, b, c, expected, tolerance", rows(mul_div)),
    },
    "cdg": {
        "exp_bit": ("u64 factor_q64", lambda _: exp_bits()),
        "gradient": (
            "u8 op; s32 rtt_us; u32 pkts_acked; bool sacked; s32 expected_us, tolerance_us",
            gradient_steps,
        ),
        "probability": ("s32 sum_us; u32 g_ns; u64 expected_q32, tolerance", rows(probability)),
        "delay_price": (
            f"s32 sums_us[{SUMS_PER_PRICE}]; u32 g_ns; u64 expected_q40, tolerance",
            rows(delay_price),
        ),
        "rate_price": (
            "u64 rate_Bps; u32 mss, rtt_us; u64 expected_q40, tolerance",
            rows(rate_price),
        ),
    },
    "control": {
        "target": ("u64 bytes, left_ns, expected_Bps, tolerance", rows(target_rate)),
        "limit": ("u32 old_q16, new_q16; u64 expected_q16, tolerance", rows(limit)),
        "pid": (
            "u32 w_q16; u64 target_Bps, rate_Bps, tw_ns; s64 integral_q16, error_q16;"
            " s64 expected_u_q16, expected_integral_q16, expected_error_q16; u64 tolerance",
            rows(pid),
        ),
        "mbc_weight": (
            "u64 price_q40; u32 phi_q16; u64 model_price_q40; u32 trim_q16;"
            " u64 expected_q16, tolerance",
            rows(mbc_weight),
        ),
        "mbc_trim": (
            "u32 trim_q16; u64 target_Bps, rate_Bps, expected_q16, tolerance",
            rows(mbc_trim),
        ),
        "phi": (
            "u32 phi_q16; u64 price_q40, price_standard_q40, expected_q16, tolerance",
            rows(phi),
        ),
    },
}


def literal(value: int | tuple[int, ...]) -> str:
    """Return value as a C initialiser of a type that holds it."""
    if isinstance(value, tuple):
        return f"{{ {', '.join(map(literal, value))} }}"
    assert -(2**63) < value <= U64_MAX
    return f"{value}ull" if value > 2**63 - 1 else f"{int(value)}"


def header(name: str, seed: int) -> Iterator[str]:
    """Yield the lines of a test file's header."""
    yield f"/* Made by gen_vectors.py --seed {seed} {name}; not to be edited. */"
    yield "#include <linux/types.h>"
    for table, (columns, make) in TABLES[name].items():
        yield f"\nstatic const struct {table}_vector {{ {columns}; }} {table}_vectors[] = {{"
        rng = random.Random(f"{seed} {table}")
        for row in make(rng):
            yield f"\t{{ {', '.join(map(literal, row))} }},"
        yield "};"


def main() -> None:
    """Parse the command line, print one header."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="of the random inputs (default 1)")
    parser.add_argument("tests", choices=TABLES, help="the test file to write vectors for")
    args = parser.parse_args()
    print("\n".join(header(args.tests, args.seed)))


if __name__ == "__main__":
    main()
