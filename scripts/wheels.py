"""Packages of the Python index, by name: fetched once into .cache and unpacked. Nothing of a package is installed."""
import pathlib
import re
import stat
import subprocess
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"


def fetch(requirement, folder, keep, *words):
    """Unpacks what `keep` says of a wheel's names below `folder`; `words` go to pip. False where the index can't be reached."""
    if (folder / "complete").exists():
        return True
    folder.mkdir(parents=True, exist_ok=True)
    pip = CACHE / "corpus" / "venv" / "bin" / "pip"
    if not pip.exists():
        venv.create(pip.parent.parent, with_pip=True)
    done = subprocess.run([pip, "download", "-q", "--no-deps", "--only-binary", ":all:", "--retries", "1", "--disable-pip-version-check",
                           *words, "-d", folder, requirement], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        print(f"{requirement} can't be fetched: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return False
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if keep(name)])
    (folder / "complete").touch()
    return True


# What the interpreter of `freeze-core` starts: a script that is given as its first argument.
START = """
def run(name):
    import sys
    del sys.argv[0]
    with open(sys.argv[0]) as file:
        text = file.read()
    exec(compile(text, sys.argv[0], "exec"), {"__name__": "__main__"})
"""


def interpreter(version):
    """A CPython of that version ("3.13"), without its standard library: the program that `freeze-core` starts frozen scripts
    with, linked statically. None where the index can't be reached."""
    folder = CACHE / f"python-{version}"
    digits = version.replace(".", "")
    platforms = [word for name in ("manylinux2014", "manylinux_2_17", "manylinux_2_28") for word in ("--platform", f"{name}_x86_64")]
    if not fetch("freeze-core", folder, lambda name: re.search("/bases/console-cpython-|/lib/unicodedata[.]", name), "--python-version", version,
                 "--implementation", "cp", "--abi", f"cp{digits}", *platforms):
        return None
    # It imports a module named after itself, so its name has to be an identifier.
    program = folder / "python"
    if not program.exists():
        next(folder.glob("freeze_core/bases/console-cpython-*")).rename(program)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        next(folder.glob("freeze_core/lib")).rename(folder / "lib")
        (folder / "lib" / "__init__python.py").write_text(START)
    return program
