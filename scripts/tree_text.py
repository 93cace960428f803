#!/usr/bin/env python3
"""The syntax tree of a file as one line, by the interpreter that runs this: what `nereid-ast --ascii` prints of the same
file.

    tree_text.py [--loose] < LIST      one line for each file of the list, or `error: ...`

It needs the built-in modules alone, so that an interpreter without its library can run it."""
import _ast
import _thread
import sys

POSITIONS = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def dump(node, loose, out):
    """What ast.dump of 3.11 prints, without its recursion on strings."""
    in_fstring = 0

    def visit(node):
        nonlocal in_fstring
        if isinstance(node, list):
            out.append("[")
            for i, item in enumerate(node):
                if i:
                    out.append(", ")
                visit(item)
            out.append("]")
            return
        if isinstance(node, int) and not isinstance(node, bool) and node.bit_length() > 20000:
            out.append(hex(node))
            return
        if not isinstance(node, _ast.AST):
            out.append(ascii(node))
            return
        joined = isinstance(node, _ast.JoinedStr)
        in_fstring += joined
        cls = type(node)
        out.append(cls.__name__)
        out.append("(")
        first = True
        for name in node._fields:
            value = getattr(node, name, None)
            if value is None and not (name == "value" and cls in (_ast.Constant, _ast.MatchSingleton)):
                continue
            if name in ("type_params",) and value == []:
                continue
            if not first:
                out.append(", ")
            first = False
            out.append(name + "=")
            visit(value)
        for name in node._attributes:
            if name not in POSITIONS:
                continue
            if not first:
                out.append(", ")
            first = False
            value = 0 if loose and in_fstring else getattr(node, name)
            out.append(f"{name}={value}")
        out.append(")")
        in_fstring -= joined

    visit(node)


def tree(path, loose):
    """The tree's text and None, or None and why there is no tree."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        module = compile(data, path, "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return None, f"{type(error).__name__}: {error}"
    out = []
    dump(module, loose, out)
    return "".join(out), None


def unlimited():
    sys.setrecursionlimit(100_000)
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)


def main():
    loose = "--loose" in sys.argv
    for path in sys.stdin.read().splitlines():
        text, error = tree(path, loose)
        print("error: " + ascii(error) if text is None else text)


def inThread(function):
    """Runs it with a stack for deep trees; gives its result."""
    _thread.stack_size(512 * 1024 * 1024)
    done, result = _thread.allocate_lock(), []

    def run():
        try:
            result.append(function())
        finally:
            done.release()

    done.acquire()
    _thread.start_new_thread(run, ())
    done.acquire()
    return result[0] if result else 1


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    unlimited()
    sys.exit(inThread(main))
