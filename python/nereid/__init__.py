"""Nereid: kernels of the Triton language on a CPU or an NVIDIA GPU.

    import nereid.triton as triton
    import nereid.triton.language as tl

or, for programs that say `import triton`: `python -m nereid program.py`, or `nereid.install()` before the import.
"""
from nereid import _C

__version__ = _C.version


def install():
    """From here on `import triton` gives Nereid's."""
    from nereid import _install

    _install.install()
