#!/usr/bin/env python3
"""Join rows of `nereid bench --json` with rows of bench/peers.py: one line a case, ratios above 1 mean that Nereid is faster.

usage: bench/compare.py NEREID.json PEERS.json
"""
import json
import math
import pathlib
import sys


def main():
    ours, peers = (json.loads(pathlib.Path(p).read_text())["rows"] for p in sys.argv[1:3])
    best = {}
    for row in peers:
        if row["seconds"]:
            best[row["kernel"], row["variant"], row["shape"], row["device"]] = row["seconds"]
    ratios = []
    print(f"{'kernel':18} {'variant':24} {'shape':44} {'us':>9} {'GB/s':>6} {'copy':>5} {'TFLOP/s':>8} {'triton':>7} {'torch':>7}")
    for row in ours:
        if not row["seconds"]:
            print(f"{row['kernel']:18} {row['variant']:24} {row['shape']:44} {row.get('failure') or row['skipped_reason']}")
            continue
        task = row["variant"].rpartition(".")[0]
        against = {"triton": best.get((row["kernel"], row["variant"], row["shape"], "triton")),
                   "torch": best.get((row["kernel"], task, row["shape"], "torch"))}
        if against["triton"]:
            ratios.append(against["triton"] / row["seconds"])
        ratio = lambda s: f"{s / row['seconds']:7.2f}" if s else "      -"
        number = lambda v, by, form: format(v * by, form) if v is not None else "-"
        print(f"{row['kernel']:18} {row['variant']:24} {row['shape']:44} {row['seconds'] * 1e6:9.1f} {number(row['gbps'], 1, '6.0f'):>6} "
              f"{number(row['copy_share'], 100, '4.0f'):>4}% {number(row['gflops'], 1e-3, '8.1f'):>8} {ratio(against['triton'])} {ratio(against['torch'])}")
    if ratios:
        print(f"geometric mean against triton over {len(ratios)} rows: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")


if __name__ == "__main__":
    main()
