"""Signatures of kernels that no launch was recorded for: from how the package launches them, from how the body uses each
parameter, and from what the engine says of a guess that does not fit."""
import ast
import collections
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from ast_source import split  # noqa: E402
from corpus_uses import Uses, parametersOf

TORCH = {"float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float64": "fp64", "double": "fp64", "int8": "i8",
         "uint8": "u8", "int16": "i16", "int32": "i32", "int": "i32", "int64": "i64", "long": "i64", "bool": "i1", "uint32": "u32", "uint64": "u64",
         "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5"}


# --- how the package launches a kernel ------------------------------------------------------------------

class Sites:
    """Launches `kernel[grid](...)` in the files of a package, by the kernel's name."""

    def __init__(self):
        self.calls = collections.defaultdict(list)

    def read(self, tree):
        self.visit(tree, {}, {})

    def visit(self, node, bound, annotated):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bound, annotated = dict(bound), dict(annotated)
            parameters = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            annotated.update({p.arg: ast.unparse(p.annotation) for p in parameters if p.annotation})
            for inner in ast.walk(node):
                if isinstance(inner, ast.Assign) and len(inner.targets) == 1 and isinstance(inner.targets[0], ast.Name):
                    bound.setdefault(inner.targets[0].id, inner.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            callee = node.func.value
            name = callee.id if isinstance(callee, ast.Name) else callee.attr if isinstance(callee, ast.Attribute) else None
            if name and not any(isinstance(a, ast.Starred) for a in node.args) and len(self.calls[name]) < 8:
                self.calls[name].append((node, bound, annotated))
        for child in ast.iter_child_nodes(node):
            self.visit(child, bound, annotated)

    def facts(self, name, parameters):
        """For each launch: {parameter: what is known of its argument, as `kindOf` has it}."""
        found = []
        for call, bound, annotated in self.calls.get(name, []):
            arguments = dict(zip(parameters, call.args))
            arguments.update({k.arg: k.value for k in call.keywords if k.arg in parameters})
            found.append({p: kindOf(value, bound, annotated) for p, value in arguments.items()})
        return found


def kindOf(node, bound, annotated, depth=0):
    """An argument's type or value in a signature; `*` for a tensor of an unknown dtype, `int` and `float` for numbers, or None."""
    again = lambda inner: kindOf(inner, bound, annotated, depth + 1)
    if depth > 6:
        return None
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, ast.Tuple):
        return "(" + ", ".join(again(one) or "int" for one in node.elts) + ",)"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return again(node.operand)
    if isinstance(node, (ast.Compare, ast.BoolOp)) or isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "bool"
    if isinstance(node, ast.IfExp):
        body = again(node.body)
        return again(node.orelse) if body in (None, "None") else body
    if isinstance(node, ast.BinOp):
        return "float" if isinstance(node.op, ast.Div) else "int" if again(node.left) != "*" else "*"
    if isinstance(node, ast.Name):
        if node.id in bound and not (isinstance(bound[node.id], ast.Name) and bound[node.id].id == node.id):
            return again(bound[node.id])
        text = annotated.get(node.id, "")
        return "*" if "Tensor" in text else "bool" if "bool" in text else "float" if "float" in text else "int" if "int" in text else None
    if isinstance(node, ast.Subscript):
        return "int" if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" else None
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == "torch" and node.attr in TORCH:
            return "tl." + node.attr
        if isinstance(node.value, ast.Name) and node.value.id == "tl":
            return ast.unparse(node)
        return "int" if node.attr in ("ndim",) else "*" if node.attr in ("data", "T") else None
    if isinstance(node, ast.Call):
        callee = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for keyword in node.keywords:
            if keyword.arg == "dtype" and isinstance(keyword.value, ast.Attribute) and keyword.value.attr in TORCH:
                return f"*{TORCH[keyword.value.attr]}:16"
        if callee in ("to", "view", "type") and node.args and isinstance(node.args[0], ast.Attribute) and node.args[0].attr in TORCH:
            return f"*{TORCH[node.args[0].attr]}:16"
        if callee in ("stride", "size") and not node.args:
            return None  # a tuple
        if callee in ("stride", "size", "numel", "element_size", "len", "cdiv", "int", "item", "bit_length"):
            return "int"
        if callee in ("min", "max", "next_power_of_2"):
            return "int"
        if callee in ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like", "contiguous", "view", "reshape", "flatten", "to", "clone",
                      "transpose", "permute", "unsqueeze", "squeeze", "new_empty", "new_zeros", "rand", "randn"):
            return "*"
        if callee in ("arange", "argsort", "cumsum", "randint", "long"):
            return "*i64:16"
        return "float" if callee == "sqrt" else "bool" if callee == "bool" else None
    return None


def fromSite(words, parameters, constexprs, facts):
    """A guess with what a launch says in place of what names suggest."""
    words = list(words)
    for n, parameter in enumerate(parameters):
        kind, isPointer = facts.get(parameter), words[n].startswith("*")
        if kind is None:
            continue
        if kind.startswith("("):
            parts = split(kind[1:-1])
            words[n] = strides(len(parts)) if parameter in constexprs else tupleOf(fromSite(["i32"] * len(parts), range(len(parts)), (), dict(enumerate(parts))))
        elif parameter in constexprs:
            if kind == "bool":
                words[n] = words[n] if words[n] in ("True", "False") else "True"
            elif kind.startswith("tl.") or kind[0] in "'\"" or kind in ("True", "False", "None") or kind.isdigit():
                words[n] = kind
            elif kind == "float":
                words[n] = "0.5"
        elif kind == "*":
            words[n] = words[n] if isPointer else "*fp32:16"
        elif kind.startswith("*"):
            words[n] = kind
        elif kind in ("int", "float", "bool"):
            words[n] = {"int": words[n] if words[n][0] == "i" else "i32", "float": "fp32", "bool": "i1"}[kind]
        elif re.fullmatch(r"\d+", kind):
            words[n] = "1" if kind == "1" else "i32"
        elif re.fullmatch(r"[\d.e-]+", kind):
            words[n] = "fp32"
    return words


# --- signatures from how a body uses its parameters ------------------------------------------------------------

INDEX = re.compile(r"(^|_)(ind|idx|index|indices|indptr|indx|offs?|offsets?|cu_seqlens?|seqlens?|lens|lengths?|ids?|locs?|table|tables|map|labels?|targets?|"
                   r"count|counts|hist|chunk_indices|chunk_offsets)(_|\d|$)|_(inds?|idx|ids)_", re.I)


def guessSignatures(node, uses=None):
    """Plausible signatures from how the body uses each parameter, the likeliest first; none if there is no telling."""
    kinds = [dict(), dict(index="*i64:16"), dict(index="*i32:16"), dict(float="*fp16:16", index="*i32:16"),
             dict(float="*fp32:16", index="*i32:16", flag="False"), dict(float="*i32:16", index="*i32:16"), dict(float="*i8:16", index="*i32:16"),
             dict(index="*i32:16", number="4"), dict(index="*i32:16", number="16", stride="1")]
    found = []
    for kind in kinds:
        guess = guessSignature(node, uses, **kind)
        if guess is not None and guess not in found:
            found.append(guess)
    return found


def guessSignature(node, uses=None, float="*fp32:16", index=None, flag="True", number="32", stride="i32"):
    """One signature with these types of pointers (`index`: those whose names say that they hold integers), or None."""
    arguments = node.args
    if arguments.vararg or arguments.kwarg:
        return None
    parameters = arguments.posonlyargs + arguments.args
    defaults = dict(zip([p.arg for p in parameters][::-1], arguments.defaults[::-1]))
    defaults.update((p.arg, default) for p, default in zip(arguments.kwonlyargs, arguments.kw_defaults))
    used = (uses or Uses()).of(node)
    words = []
    for parameter in parameters + arguments.kwonlyargs:
        name, use = parameter.arg, used.get(parameter.arg)
        annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
        if "constexpr" in annotation:
            default = defaults.get(name)
            words.append(ast.unparse(default) if isinstance(default, ast.Constant) else guessConstexpr(name, flag, number, use))
        elif use and use[0] == "descriptor":
            words.append(f"tensordesc<{float[1:].partition(':')[0]}[{','.join(['32'] * use[1])}]>")
        elif use and use[0] == "tuple":
            words.append(tupleOf([float if use[2] == "pointer" else "i32"] * use[1]))
        elif use == "pointer" or re.search(r"(_ptr|_ptrs|^ptr)\d*$", name, re.I):
            words.append(index if index and INDEX.search(name) else float)
        elif re.search(r"(^|_)(eps|epsilon|scale|alpha|beta|p|prob|temperature|softcap|momentum|lr)$", name, re.I):
            words.append("fp32")
        else:
            words.append(stride if "stride" in name else "i32")
    return ", ".join(words)


def tupleOf(words):
    return "(" + ", ".join(words) + ("," if len(words) == 1 else "") + ")"


def strides(count):
    """Those of a dense tensor, as a tuple in a signature."""
    return tupleOf([str(32**n) for n in reversed(range(count))])


def guessConstexpr(name, flag="True", number="32", use=None):
    if use and use[0] == "tuple":
        return strides(use[1])
    if re.search(r"(strides|shape)$", name, re.I):
        return strides(3)
    if re.match(r"(IS_|HAS_|USE_|EVEN_|DO_|ENABLE_|WITH_|STORE_|RETURN_|CAUSAL|TRANS|UPCAST|MASK|is_|has_|use_)", name):
        return flag
    if re.search(r"group_?(size_)?m$|stages|splits?$|num_", name, re.I):
        return "4"
    if re.search(r"dtype", name, re.I):
        return "tl.float32"
    if re.search(r"precision", name, re.I):
        return "'ieee'"
    if re.fullmatch(r"activation", name, re.I):
        return "None"
    if re.search(r"cache_modifier|eviction", name, re.I):
        return "''"
    return number


# --- repair: what the engine says of a guess ------------------------------------------------------------

POINTERS = ["*fp32:16", "*i32:16", "*fp16:16", "*i64:16", "*u8:16", "*bf16:16", "*i1", "*fp8e4nv:16", "None", "*i8:16", "i32", "tensordesc<fp16[32,32]>"]
SCALARS = ["i32", "fp32", "*fp32:16", "*i32:16", "tensordesc<fp16[32,32]>", "(i32, i32, i32)", "*i64:16", "1", "None", "i64", "*fp16:16", "i1"]
CONSTEXPRS = ["True", "False", "32", "16", "1", "64", "2", "4", "8", "0", "None", "128", "tl.float32", "tl.float16", "tl.int32", "0.5", "'ieee'", "3",
              "(32, 1)", "(1024, 32, 1)", "(32768, 1024, 32, 1)", "(1,)"]


def names(node):
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


class Repair:
    """Changes one parameter of a guess at a time, those behind the refused line first, and keeps what gets further."""

    def __init__(self, node, constexprs):
        self.node, self.constexprs = node, constexprs
        self.parameters = parametersOf(node)
        self.sources = collections.defaultdict(set)
        self.compared = collections.defaultdict(list)
        for inner in ast.walk(node):
            if isinstance(inner, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and inner.value:
                for target in inner.targets if isinstance(inner, ast.Assign) else [inner.target]:
                    for name in names(target):
                        self.sources[name] |= names(inner.value)
            elif isinstance(inner, ast.For):
                for name in names(inner.target):
                    self.sources[name] |= names(inner.iter)
            elif isinstance(inner, ast.Compare):
                sides = [inner.left, *inner.comparators]
                for side in sides:
                    if isinstance(side, ast.Name):
                        for other in sides:
                            options = other.elts if isinstance(other, (ast.Tuple, ast.List)) else [other]
                            self.compared[side.id] += [ast.unparse(o) for o in options
                                                       if isinstance(o, ast.Constant) or re.match(r"(tl|triton\.language)\.\w+$", ast.unparse(o))]

    def suspects(self, line):
        """Parameters that a line uses, and those behind its names: nearest first."""
        near = set()
        for inner in ast.walk(self.node):
            if isinstance(inner, ast.stmt) and not isinstance(inner, (ast.FunctionDef, ast.For, ast.If, ast.While, ast.With)) and inner.lineno <= line <= inner.end_lineno:
                near |= names(inner)
            elif isinstance(inner, (ast.For, ast.If, ast.While)) and inner.lineno == line:
                near |= names(inner.iter if isinstance(inner, ast.For) else inner.test)
        order, seen = [], set()
        while near - seen:
            order += sorted((near - seen) & set(self.parameters), key=self.parameters.index)
            seen |= near
            near = set().union(*[self.sources[name] for name in near])
        return order

    def choices(self, parameter, word):
        if parameter in self.constexprs:
            found = self.compared[parameter] + CONSTEXPRS
        else:
            found = POINTERS if word.startswith("*") else SCALARS
        if word.startswith("("):
            found = [choice for choice in found if choice.startswith("(")] + found
        return [choice for choice in dict.fromkeys(found) if choice != word]

    def search(self, attempt, words, line, limit):
        """`attempt(words)` is None or the line that is refused. (words that emit or None, attempts made)."""
        tried, count = {tuple(words)}, 0
        while count < limit:
            best = None
            options = [self.choices(p, words[self.parameters.index(p)]) for p in self.suspects(line)]
            ordered = [(p, options[n][k]) for k in range(max(map(len, options), default=0)) for n, p in enumerate(self.suspects(line)) if k < len(options[n])]
            for parameter, choice in ordered:
                changed = list(words)
                changed[self.parameters.index(parameter)] = choice
                if tuple(changed) in tried:
                    continue
                tried.add(tuple(changed))
                count += 1
                reached = attempt(changed)
                if reached is None:
                    return changed, count
                if reached > line:
                    best = changed, reached
                    break
                if count >= limit:
                    break
            if not best:
                return None, count
            words, line = best
        return None, count


def firstGuesses(node, sites, uses=None):
    """([words of a signature], constexprs): the likeliest first."""
    guesses = [split(guess) for guess in guessSignatures(node, uses)]
    parameters = parametersOf(node)
    constexprs = {p.arg for p in node.args.posonlyargs + node.args.args + node.args.kwonlyargs if p.annotation and "constexpr" in ast.unparse(p.annotation)}
    found = []
    base = guessSignature(node, uses, index="*i32:16")
    for facts in sites.facts(node.name, parameters) if base is not None else []:
        found.append(fromSite(split(base), parameters, constexprs, facts))
    unique = []
    for words in found + guesses:
        if words not in unique:
            unique.append(words)
    return unique, constexprs
