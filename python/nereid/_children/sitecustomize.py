"""Python reads this as it starts in the processes that a program under `python -m nereid` starts (spawned workers,
torchrun): `import triton` is Nereid's there too. Nothing of Nereid is read before that import."""
import importlib.util
import os
import sys
from importlib.machinery import PathFinder

_here = os.path.dirname(os.path.abspath(__file__))


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "triton":
            return None
        sys.meta_path.remove(_Finder)
        root = os.path.dirname(os.path.dirname(_here))
        sys.path.append(root)
        try:
            import nereid
        except ImportError:  # another Python than the parent's
            return None
        finally:
            sys.path.remove(root)
        nereid.install()
        return sys.meta_path[0].find_spec(name, path, target)


sys.meta_path.insert(0, _Finder)

# The one that this file hides.
_hidden = PathFinder.find_spec("sitecustomize", [one for one in sys.path if os.path.abspath(one) != _here])
if _hidden is not None:
    _hidden.loader.exec_module(importlib.util.module_from_spec(_hidden))
