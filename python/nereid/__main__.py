"""`python -m nereid program.py args...`, `-m module args...`, `-c code` and `-` for standard input: `import triton` is
Nereid's, in the Python processes that the program starts too."""
import importlib.util
import linecache
import os
import runpy
import sys
import types

USAGE = """usage: python -m nereid PROGRAM.py [ARGUMENTS]
       python -m nereid -m MODULE [ARGUMENTS]
       python -m nereid -c CODE [ARGUMENTS]
       python -m nereid - [ARGUMENTS]          the program comes from standard input

Runs a Python program in which `import triton` is Nereid's."""


def fail(message):
    print("python -m nereid: " + message, file=sys.stderr)
    return 2


def run_code(code, name="<command line>"):
    """As `python -c`; kernels find their source by way of `linecache`."""
    linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(compile(code, name, "exec"), module.__dict__)


def main():
    import nereid

    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    nereid.install()
    children = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_children")
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if children not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([children, *filter(None, paths)])
    if arguments[0] in ("-m", "-c") and len(arguments) < 2:
        return fail(f"{arguments[0]} needs " + ("the name of a module" if arguments[0] == "-m" else "a program text"))
    if arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path[0] = os.getcwd()
        run_code(arguments[1])
        return 0
    if arguments[0] == "-":
        sys.argv = arguments
        sys.path[0] = os.getcwd()
        run_code(sys.stdin.read(), "<standard input>")
        return 0
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        try:
            found = importlib.util.find_spec(arguments[1])
        except ModuleNotFoundError:  # of the package that it is in
            found = None
        if not found:
            return fail(f"there is no module {arguments[1]!r}")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    if arguments[0].startswith("-"):
        return fail(f"there is no option {arguments[0]}\n{USAGE}")
    try:
        open(arguments[0], "rb").close()
    except IsADirectoryError:
        pass  # a folder with a __main__.py
    except OSError as failure:
        return fail(f"cannot open {arguments[0]!r}: {failure.strerror}")
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
