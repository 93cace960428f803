#!/usr/bin/env python3
"""Tune and time kernel folders on a machine, and bring what it measured into the tree.

usage: scripts/measure-kernels.py run FOLDER... [--nereid BIN] [--device cuda:0] [--variant V...] [--match TEXT] [--cache read] [--peers] > FILE
       scripts/measure-kernels.py take FILE...

`run` keeps the best configuration of each variant and case in the folder's tuned.json (`nereid tune`), then times what was chosen
(`nereid bench`), with --peers beside Triton on the same source and configuration, and the libraries that the spec names. It prints
one line of JSON for each folder.

`take` merges such lines into kernels/*/tuned.json and docs/results/kernels/, and writes the tables of docs/kernels-measured.md and docs/course.
Rows of tuned.json lose the hash of their folder's source: a configuration that the spec still has stays right when a case is added,
and this machine can't measure it again.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import time

from measured_rows import by_peer

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/results/kernels"
PAGE = ROOT / "docs/kernels-measured.md"


def run(words):
    shared = ["--device", words.device] + [w for v in words.variant for w in ("--variant", v)]
    shared += ["--match", words.match] if words.match else []
    for folder in words.folders:
        folder = pathlib.Path(folder)
        tune = [words.nereid, "tune", str(folder), "--cases", words.cases, "--seconds", str(words.tune_seconds), *shared]
        start = time.monotonic()
        tuned = subprocess.run(tune, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        middle = time.monotonic()
        bench = [words.nereid, "bench", str(folder), "--cases", words.cases, "--seconds", str(words.seconds), "--cache", words.cache, "--json", *shared]
        if words.peers:
            bench += ["--peers", "--peer-command", " ".join([sys.executable, f"{ROOT}/bench/peers.py", "--tuned", *(f"--variant {v}" for v in words.variant)])]
        timed = subprocess.run(bench, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        print(f"{folder.name}: tuned in {middle - start:.0f} s, timed in {time.monotonic() - middle:.0f} s", file=sys.stderr)
        table = json.loads((folder / "tuned.json").read_text()) if (folder / "tuned.json").exists() else {"rows": []}
        line = dict(folder=folder.name, cases=words.cases, tuned=table["rows"])
        try:
            line["bench"] = {part: json.loads(timed.stdout)[part] for part in ("machines", "rows")}
        except (ValueError, KeyError):
            line["failure"] = timed.stderr[-2000:]
        if tuned.returncode:
            line["tune_failure"] = tuned.stderr[-2000:]
        print(json.dumps(line), flush=True)


def place(row):
    """What two rows of a tuning file agree in when one takes the other's place."""
    return json.dumps([row.get(key) for key in ("target", "device", "kernel", "variant", "case")], sort_keys=True)


def merge_tuned(folder, rows):
    path = ROOT / "kernels" / folder / "tuned.json"
    table = json.loads(path.read_text())
    kept = {place(row): row for row in table["rows"]}
    for row in rows:
        row = {key: value for key, value in row.items() if key != "source"}
        kept[place(row)] = row
    lines = [json.dumps(kept[key]) for key in sorted(kept)]
    path.write_text('{"version": 1, "rows": [\n' + ",\n".join(lines) + "\n]}\n" if lines else '{"version": 1, "rows": []}\n')


def machine_name(machine):
    return (machine.get("description") or machine["device"]).lower().replace(" ", "-")


def take(words):
    for name in words.files:
        for text in pathlib.Path(name).read_text().splitlines():
            if not text.startswith('{"folder"'):
                continue
            line = json.loads(text)
            merge_tuned(line["folder"], line["tuned"])
            if "bench" not in line:
                print(f"{name}: {line['folder']}: {line['failure'].strip().splitlines()[-1] if line['failure'].strip() else 'no rows'}", file=sys.stderr)
                continue
            if not line["bench"]["machines"]:
                print(f"{name}: {line['folder']}: no case was measured", file=sys.stderr)
                continue
            machine = line["bench"]["machines"][0]
            dates = [row["date"] for row in line["tuned"] if row.get("device") == machine.get("description")]
            where = RESULTS / f"{machine_name(machine)}.json"
            whole = json.loads(where.read_text()) if where.exists() else {"machine": machine, "rows": []}
            whole["machine"] = machine
            date = max(dates, default=machine.get("date"))
            rows = {(r["kernel"], r["variant"], r["shape"]): r for r in whole["rows"]}
            for row in line["bench"]["rows"]:
                if row["seconds"] is not None:
                    rows[row["kernel"], row["variant"], row["shape"]] = {"date": date} | {k: v for k, v in row.items() if v not in (None, [], "")}
            whole["rows"] = [rows[key] for key in sorted(rows)]
            RESULTS.mkdir(parents=True, exist_ok=True)
            where.write_text(json.dumps(whole, indent=1) + "\n")
    write_page()
    if (ROOT / "build/release/bin/nereid").exists():  # which draws the plots
        subprocess.run([sys.executable, ROOT / "scripts/course-pages.py"], check=False)
    else:
        print("docs/course has rows of these results too: build, then run scripts/course-pages.py", file=sys.stderr)


def rows_of(where):
    return json.loads(where.read_text())


def write_page():
    text = ["# Kernel folders, measured", "",
            "Written by `scripts/measure-kernels.py take` from `docs/results/kernels`: for each case the fastest variant and its tuned configuration. Medians; `of copy` is the share of the rate of a large",
            "copy. The other columns are a peer's time over ours: above 1 is faster than the peer. `triton` is Triton on the same source with the same configuration. How a row is timed: [bench.md](bench.md).", ""]
    for where in sorted(RESULTS.glob("*.json")):
        whole = rows_of(where)
        machine = whole["machine"]
        names = sorted({p["name"] for row in whole["rows"] for p in row.get("peers", [])})
        dates = sorted({row["date"] for row in whole["rows"] if row.get("date")})
        text += [f"## {machine.get('description') or machine['device']}, {' to '.join(dict.fromkeys([dates[0], dates[-1]]))}" if dates else f"## {machine['device']}", ""]
        best = {}
        for row in whole["rows"]:
            task = row["variant"].split(".")[0] if "." in row["variant"] else ""
            key = row["kernel"], task, row["shape"]
            if key not in best or row["seconds"] < best[key]["seconds"]:
                best[key] = row
        text += ["| folder | variant | case | us | GB/s | of copy | Tflop/s |" + "".join(f" {name} |" for name in names),
                 "|---|---|---|--:|--:|--:|--:|" + "--:|" * len(names)]
        for (kernel, task, shape), row in sorted(best.items()):
            cell = lambda value, form: form % value if value is not None else ""
            text.append(f"| `{kernel}` | `{row['variant']}` | {shape} | {row['seconds'] * 1e6:.1f} | {cell(row.get('gbps'), '%.0f')} | "
                        f"{cell(row['copy_share'] * 100 if row.get('copy_share') else None, '%.0f%%')} | "
                        f"{cell(row['gflops'] / 1e3 if row.get('gflops') else None, '%.1f')} |"
                        + "".join(f" {cell(by_peer(row, name), '%.2f')} |" for name in names))
        for name in names:
            ratios = [r for r in (by_peer(row, name) for row in best.values()) if r]
            if ratios:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                text += ["", f"Beside {name}: geometric mean {mean:.2f} of {len(ratios)} rows, {sum(r < 0.9 for r in ratios)} of them below 0.9, {min(ratios):.2f} the least."]
        text.append("")
    PAGE.write_text("\n".join(text).rstrip("\n") + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    words = verbs.add_parser("run")
    words.set_defaults(go=run)
    words.add_argument("folders", nargs="+")
    words.add_argument("--nereid", default=str(ROOT / "build/release/bin/nereid"))
    words.add_argument("--device", default="cuda:0")
    words.add_argument("--cases", default="bench", choices=["bench", "demo", "cases"])
    words.add_argument("--variant", action="append", default=[])
    words.add_argument("--match", default="")
    words.add_argument("--peers", action="store_true")
    words.add_argument("--tune-seconds", type=float, default=0.05)
    words.add_argument("--seconds", type=float, default=0.2)
    words.add_argument("--cache", choices=["written", "read"], default="written", help="what the second-level cache holds before each sample")
    words = verbs.add_parser("take")
    words.set_defaults(go=take)
    words.add_argument("files", nargs="+")
    words = parser.parse_args()
    words.go(words)


if __name__ == "__main__":
    main()
