#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Turn what compare.sh printed into a CSV file, and print a table of means over the seeds.

usage: compare_table.py COMMIT,KERNEL FILE <LOG
"""

import csv
import statistics
import sys
from collections import defaultdict

MODULE, BPF = "module", "bpf"


def main() -> None:
    provenance, path = sys.argv[1:]
    commit, kernel = provenance.split(",")
    rows = []
    figures: dict[tuple[str, str], dict[str, dict[str, float]]] = defaultdict(
        lambda: defaultdict(dict)
    )

    for line in sys.stdin:
        if not line.startswith("run,"):
            continue
        _, edition, cell, seed, *rest = line.strip().split(",")
        values = [float(x) for x in rest]
        dropped = int(values.pop())
        named: dict[str, float]
        if cell == "goal":
            named = {"done_percent": values[0], "others_mbps": values[1]}
        else:
            flows = 2 if edition == "both" else 1
            beside = values[flows:]
            named = {}
            for i in range(flows):
                name = "" if flows == 1 else "_module" if i == 0 else "_bpf"
                named[f"alone{name}_mbps"] = values[i]
                named[f"share{name}_percent"] = 100 * beside[i] / sum(beside)
            named["others_mbps"] = sum(beside[flows:])
        for name, value in named.items():
            rows.append([edition, cell, seed, name, f"{value:.3f}", dropped, commit, kernel])
            figures[cell, name][edition][seed] = value
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            ["edition", "cell", "seed", "figure", "value", "dropped", "commit", "kernel"]
        )
        writer.writerows(rows)
    print("# cell, figure: mean of the module, of the BPF edition; the difference, seed by seed")
    for (cell, name), editions in figures.items():
        said = [f"{e} {statistics.mean(v.values()):.3f}" for e, v in editions.items() if v]
        module, bpf = editions[MODULE], editions[BPF]
        pairs = [bpf[s] - module[s] for s in module if s in bpf]
        if pairs:
            said.append(f"difference {statistics.mean(pairs):+.3f}")
            said.append(f"({' '.join(f'{p:+.3f}' for p in pairs)})")
        print(f"# {cell}, {name}: {', '.join(said)}")


main()
