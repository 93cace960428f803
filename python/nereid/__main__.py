"""`python -m nereid program.py args...` and `python -m nereid -m module args...`: `import triton` is Nereid's, in
the Python processes that the program starts too."""
import os
import runpy
import sys


def main():
    import nereid

    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m nereid PROGRAM.py [ARGUMENTS]\n       python -m nereid -m MODULE [ARGUMENTS]")
        return 0 if arguments else 2
    nereid.install()
    children = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_children")
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if children not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([children, *filter(None, paths)])
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print("python -m nereid: -m needs the name of a module", file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
