"""How the functions of a package use their parameters, also through the functions that they call."""
import ast
import collections


def namesOfSum(node):
    """The leftmost name of a sum: where pointers stand by custom."""
    while isinstance(node, (ast.BinOp, ast.Subscript)):
        node = node.left if isinstance(node, ast.BinOp) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def parametersOf(node):
    return [p.arg for p in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]


class Uses:
    """`of(node)` says for parameters of a function: "pointer", `("descriptor", rank)`, `("tuple", count, "pointer" or "number")`; nothing of the
    rest. Functions that `read` has seen are looked into where they are called; `called` are the names that decorated functions call."""

    def __init__(self):
        self.functions, self.known, self.called = {}, {}, set()

    def read(self, tree):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                self.functions.setdefault(node.name, node)
                self.called |= {call.func.id for call in ast.walk(node) if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id != node.name}

    def of(self, node):
        if node not in self.known:
            self.known[node] = {}  # what a function that calls itself sees
            self.known[node] = self.look(node)
        return self.known[node]

    def look(self, node):
        found, reached, sources = indexed(node), set(), collections.defaultdict(set)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Assign) and isinstance(inner.value, (ast.BinOp, ast.Name)):
                for target in inner.targets:
                    if isinstance(target, ast.Name):
                        sources[target.id] |= namesOfSum(inner.value)
            elif isinstance(inner, ast.Call):
                reached |= addresses(inner)
                for argument, use in self.passed(inner):
                    if use == "pointer":
                        reached |= namesOfSum(argument)
                    elif isinstance(argument, ast.Name):
                        found.setdefault(argument.id, use)
        while more := set().union(*[sources[name] for name in reached]) - reached:
            reached |= more
        return {name: found.get(name, "pointer") for name in parametersOf(node) if name in found or name in reached}

    def passed(self, call):
        """What each argument of a call to a function of the package is used for there."""
        callee = self.functions.get(call.func.id if isinstance(call.func, ast.Name) else None)
        if callee is None or any(isinstance(argument, ast.Starred) for argument in call.args):
            return []
        uses = self.of(callee)
        given = list(zip(parametersOf(callee), call.args)) + [(keyword.arg, keyword.value) for keyword in call.keywords]
        return [(argument, uses[parameter]) for parameter, argument in given if parameter in uses]


def indexed(node):
    """Names that can be no pointer: descriptors, by the indices of `d.load([i, j])`, and tuples, by those of `t[1]`."""
    found, counts, loaded = {}, {}, set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and isinstance(inner.func.value, ast.Name) and inner.args:
            place, at = inner.func.value.id, inner.args[0]
            if inner.func.attr in ("load_tensor_descriptor", "store_tensor_descriptor") and isinstance(at, ast.Name) and len(inner.args) > 1:
                place, at = at.id, inner.args[1]
            elif inner.func.attr not in ("load", "store"):
                continue
            if isinstance(at, (ast.List, ast.Tuple)):
                found[place] = "descriptor", len(at.elts)
            loaded |= {one.value.id for one in ast.walk(inner.args[0]) if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)}
        elif isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.Name) and isinstance(inner.slice, ast.Constant) and isinstance(inner.slice.value, int):
            counts[inner.value.id] = max(counts.get(inner.value.id, 0), inner.slice.value + 1)
    for name, count in counts.items():
        found.setdefault(name, ("tuple", count, "pointer" if name in loaded else "number"))
    return found


def addresses(call):
    """Names that stand for an address in a call of the language."""
    if not isinstance(call.func, ast.Attribute):
        return set()
    callee = call.func.attr
    isAccess = callee in ("load", "store") or callee.startswith("atomic_")
    if isAccess and not (isinstance(call.func.value, ast.Name) and call.func.value.id in ("tl", "triton", "language")):
        return set()
    if not isAccess and callee not in ("make_block_ptr", "make_tensor_descriptor"):
        return set()
    places = call.args[:1] + [keyword.value for keyword in call.keywords if keyword.arg in ("base", "pointer")]
    return set().union(*[namesOfSum(place) for place in places])
