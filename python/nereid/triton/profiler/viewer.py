"""Reads what `finalize` wrote: `parse(metrics, file)` and `print_tree`, and `python -m nereid -m triton.profiler.viewer`."""
import json
import re
import sys

_times = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
_sizes = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}


class Tree:
    """A node with the values of the metrics that were asked for; a scope's are those of all below it."""

    def __init__(self, name, values, children):
        self.name, self.values, self.children = name, values, children


def _sums(raw):
    """(time in ns, count, raw metrics) of a node with all below it."""
    own = dict(raw.get("metrics", {}))
    time, count = own.pop("time (ns)", 0), own.pop("count", 0)
    for word in ("device_id", "device_type"):
        own.pop(word, None)
    for child in raw.get("children", ()):
        child_time, child_count, metrics = _sums(child)
        time, count = time + child_time, count + child_count
        for name, value in metrics.items():
            own[name] = own.get(name, 0) + value
    return time, count, own


def _metric(name, whole):
    """How a metric is computed from a node's sums."""
    if name == "count":
        return lambda time, count, own: count
    if found := re.fullmatch(r"(avg_)?(cpu_)?time/(s|ms|us|ns|%)", name):
        average, cpu, unit = found.groups()

        def compute(time, count, own):
            time = own.get("cpu_time (ns)", 0) if cpu else time
            if unit == "%":
                return 100 * time / whole if whole else 0.0
            return time / _times[unit] / (max(count, 1) if average else 1)

        return compute
    if found := re.fullmatch(r"([kmgtp]?)(flop|byte)(\d*)/s", name):
        size, what, bits = found.groups()

        def compute(time, count, own):
            names = [f"{what}s{bits}"] if bits or what == "byte" else [key for key in own if key.startswith("flops")]
            return sum(own.get(key, 0) for key in names) / (time / 1e9) / _sizes[size] if time else 0.0

        return compute
    return lambda time, count, own: own.get(name, 0)


def read(filename):
    with open(filename) as file:
        return json.load(file)


def parse(metrics, filename, include=None, exclude=None, threshold=None):
    """(tree, names of the metrics). Of `time/ms` and the like; `tflop16/s` and `gbyte/s` take what the scopes say.
    `include` and `exclude` are patterns of names, `threshold` the least value of the first metric."""
    root = read(filename)[0]
    whole = _sums(root)[0]
    computed = {name: _metric(name, whole) for name in metrics}

    def build(raw):
        sums = _sums(raw)
        children = [build(child) for child in raw.get("children", ())]
        return Tree(raw["frame"]["name"], {name: compute(*sums) for name, compute in computed.items()},
                    [child for child in children if child is not None and kept(child)])

    def kept(tree):
        if exclude and re.search(exclude, tree.name):
            return False
        if include and not re.search(include, tree.name) and not tree.children:
            return False
        return threshold is None or tree.values[metrics[0]] >= threshold

    return build(root), list(metrics)


def print_tree(tree, metrics, depth=100, format=None, print_sorted=False):
    """The first metric before each name, the others in brackets behind it."""

    def line(node, before, branch):
        values = [f"{node.values[name]:.3f}" for name in metrics]
        more = f" [{', '.join(values[1:])}]" if values[1:] else ""
        print(f"{before}{branch}{values[0] if values else ''} {node.name}{more}")

    def below(node, before, left):
        if not left:
            return
        children = sorted(node.children, key=lambda one: -one.values[metrics[0]]) if print_sorted else node.children
        for i, child in enumerate(children):
            last = i + 1 == len(children)
            line(child, before, "└─ " if last else "├─ ")
            below(child, before + ("   " if last else "│  "), left - 1)

    print(", ".join(metrics))
    line(tree, "", "")
    below(tree, "", depth)


def main():
    import argparse

    parser = argparse.ArgumentParser(prog="triton.profiler.viewer", description="Prints a profile as a tree.")
    parser.add_argument("-m", "--metrics", default="time/ms", help="separated by commas")
    parser.add_argument("-i", "--include")
    parser.add_argument("-e", "--exclude")
    parser.add_argument("-t", "--threshold", type=float)
    parser.add_argument("-d", "--depth", type=int, default=100)
    parser.add_argument("--print-sorted", action="store_true")
    parser.add_argument("file")
    options = parser.parse_args()
    tree, metrics = parse(options.metrics.split(","), options.file, options.include, options.exclude, options.threshold)
    print_tree(tree, metrics, options.depth, print_sorted=options.print_sorted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
