"""Rows as bench/peers.py writes them, of nothing measured."""
import json
import sys

label = "M=128 N=128 K=128 dtype=f16"
rows = [dict(kernel="matmul", variant="grouped", device="triton", shape=label, seconds=0.0005, failure=None),
        dict(kernel="matmul", variant="", device="torch", shape=label, seconds=0.00025, failure=None),
        dict(kernel="matmul", variant="unfused", device="triton", shape=label, seconds=9, failure=None),
        dict(kernel="matmul", variant="grouped", device="triton", shape="another", seconds=9, failure=None)]
open(sys.argv[sys.argv.index("--json") + 1], "w").write(json.dumps({"rows": rows}))
