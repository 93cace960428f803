"""A kernel as Triton's compiler takes it, from a signature as `nereid compile` takes it: what compares both without launching anything begins here."""
import re


def split(text):
    """The parts of `*fp32, (i32, 4), 'a, b'` between the outer commas."""
    found, depth, quote, start = [], 0, None, 0
    for at, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "'\"":
            quote = c
        else:
            depth += (c in "([{<") - (c in ")]}>")
            if c == "," and depth == 0:
                found.append(text[start:at])
                start = at + 1
    return [part.strip() for part in found + [text[start:]] if part.strip()]


def parts(parameters, words, names):
    """(signature, constants, attributes) as `ASTSource` has them, of `parameters`, pairs of a name and whether it is a constexpr. Constants are evaluated
    with `names`; what equals one is a constant of Triton's, too."""
    signature, constants, attributes = {}, {}, {}
    for place, ((name, is_constexpr), word) in enumerate(zip(parameters, words, strict=True)):
        kind = re.fullmatch(r"(\*?(?:fp\d+\w*|bf16|[iu]\d+))(?::(\d+))?", word)
        if word.startswith(("(", "tensordesc")) and not is_constexpr:
            raise NotImplementedError(f"`{name}`: tuples and descriptors are not tried")
        if kind and kind[2] != "1" and not is_constexpr:
            signature[name] = kind[1]
            if kind[2] == "16":
                attributes[place,] = [["tt.divisibility", 16]]
        else:
            signature[name], constants[place,] = "constexpr", 1 if kind else eval(word, dict(names))
    return signature, constants, attributes


def source_of(function, signature):
    """`triton.compiler.ASTSource` of a kernel, also of one within `autotune` and `heuristics`."""
    import triton
    import triton.language as tl

    while not isinstance(function, triton.JITFunction):
        function = function.fn
    parameters = [(parameter.name, parameter.is_constexpr) for parameter in function.params]
    return triton.compiler.ASTSource(function, *parts(parameters, split(signature), {"tl": tl}))
