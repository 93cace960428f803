"""The build backend (PEP 517) of the distribution `nereid-triton`: `./dev build` makes the extension, this puts it and
the Python files into a wheel. It needs nothing from the index. NEREID_BUILD_DIR names a build that is there already."""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The limited API of 3.10 serves all later ones; the extension needs the C library of Debian 12.
TAG = "cp310-abi3-manylinux_2_36_x86_64"
NAME = "nereid_triton"


def version():
    return re.search(r"project\(nereid VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def metadata():
    return (f"Metadata-Version: 2.1\nName: nereid-triton\nVersion: {version()}\n"
            "Summary: Kernels of the Triton language on a CPU or an NVIDIA GPU\nRequires-Python: >=3.10\n"
            "Description-Content-Type: text/markdown\n\n" + (ROOT / "docs/python.md").read_text())


WHEEL = f"Wheel-Version: 1.0\nGenerator: nereid_build\nRoot-Is-Purelib: false\nTag: {TAG}\n"


def extension():
    build = os.environ.get("NEREID_BUILD_DIR")
    if not build:
        subprocess.run([ROOT / "dev", "build", "nereid_python"], check=True, cwd=ROOT)
        build = ROOT / "build/release"
    return pathlib.Path(build) / "python/nereid/_C.abi3.so"


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = pathlib.Path(metadata_directory) / f"{NAME}-{version()}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(metadata())
    (folder / "WHEEL").write_text(WHEEL)
    return folder.name


def write_wheel(wheel_directory, files):
    """`files`: (name in the wheel, bytes)."""
    name = f"{NAME}-{version()}-{TAG}.whl"
    info = f"{NAME}-{version()}.dist-info"
    files = [*files, (f"{info}/METADATA", metadata().encode()), (f"{info}/WHEEL", WHEEL.encode())]
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for path, data in files)
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files:
            # One date for all, so that the same sources give the same wheel.
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    built = extension()
    files = [(str(path.relative_to(ROOT / "python")), path.read_bytes())
             for path in sorted((ROOT / "python/nereid").rglob("*.py"))]
    return write_wheel(wheel_directory, [*files, ("nereid/_C.abi3.so", built.read_bytes())])


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The build's own package folder, whose Python files are links to the sources."""
    return write_wheel(wheel_directory, [("nereid.pth", f"{extension().parent.parent}\n".encode())])


def build_sdist(sdist_directory, config_settings=None):
    name = f"{NAME}-{version()}"
    listed = subprocess.run(["git", "ls-files"], check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for path in listed.splitlines():
            archive.add(ROOT / path, f"{name}/{path}", recursive=False)
    return f"{name}.tar.gz"
