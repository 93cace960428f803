#!/usr/bin/env python3
"""What Triton's own front end says of the guesses that Nereid refused. By hand; no GPU.

    scripts/corpus.py --from DIR --refused refused.json ...
    scripts/corpus-refused.py refused.json --from DIR [--chip 90] [--jobs 2] [--json OUT]

For each kernel of the list its guessed signature is put before the front end of the installed Triton (to its IR, not further). A line for each that
Triton takes: these are refusals to look at. `--verbose` prints what Triton says of the others. Only a kernel's own definitions are taken from its
files, not what they import. Nothing of a package is kept.
"""
import argparse
import collections
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from ast_source import source_of


REACHED = "the front end starts"  # what is behind it Triton says of the kernel; before it a guess or its file was of a kind that is not tried


def slices(root):
    """`Slices` of corpus-differ.py, with kernels that compile: that script wants interpreted ones, so Triton is imported before it."""
    import triton.language  # noqa: F401

    spec = importlib.util.spec_from_file_location("differ", pathlib.Path(__file__).with_name("corpus-differ.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    os.environ["TRITON_INTERPRET"] = "0"
    return module.Slices(root)


def take(root, key, words, chip):
    """To Triton's IR in this process; raises what Triton's front end raises."""
    kernels = slices(root)
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend
    file, name = key.rsplit(":", 1)
    sys.path.append(str(root / file.split("/")[0]))
    function = kernels.define(root / file, name.partition(".")[0])[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    source = source_of(function, words)
    backend = make_backend(GPUTarget("cuda", chip, 32))
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    print(REACHED, file=sys.stderr, flush=True)
    source.make_ir(GPUTarget("cuda", chip, 32), options, backend.get_codegen_implementation(options), backend.get_module_map(), context)


def apart(key, words, options):
    """("TAKEN", "refused too" or "not tried", Triton's last words): in a process of its own, since its IR can abort."""
    try:
        done = subprocess.run([sys.executable, __file__, "--one", key, words, "--from", options.root, "--chip", str(options.chip)], capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        return "not tried", "time-out"
    lines = [line.strip() for line in done.stderr.strip().splitlines() if line.strip()]
    verdict = "TAKEN" if done.returncode == 0 else "refused too" if REACHED in lines else "not tried"
    return verdict, (lines or [f"exit code {done.returncode}"])[-1][:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("refused", nargs="?")
    parser.add_argument("--from", dest="root", required=True, metavar="DIR")
    parser.add_argument("--chip", type=int, default=90)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.root = os.path.abspath(options.root)
    if options.one:
        take(pathlib.Path(options.root), *options.one, options.chip)
        return 0
    refused = json.loads(pathlib.Path(options.refused).read_text())
    answers = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for key, (verdict, said) in zip(refused, pool.map(lambda key: apart(key, ", ".join(refused[key][1]), options), refused)):
            answers[key] = dict(verdict=verdict, triton=said, nereid=refused[key][0], signature=refused[key][1])
            if verdict == "TAKEN" or options.verbose:
                print(f"{verdict} {key}\n    nereid: {refused[key][0]}\n    triton: {said}\n   ", ", ".join(refused[key][1]), flush=True)
    counts = collections.Counter(answer["verdict"] for answer in answers.values())
    print(f"of {len(answers)} refused guesses Triton takes {counts['TAKEN']}; {counts['not tried']} were not tried")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(answers, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
