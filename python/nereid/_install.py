"""Answers `import triton` with `nereid.triton`: one module object under both names."""
import importlib
import importlib.abc
import importlib.machinery
import os
import sys


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name != "triton" and not name.startswith("triton."):
            return None
        real = "nereid." + name
        try:
            found = importlib.util.find_spec(real)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=found.origin, is_package=found.submodule_search_locations is not None)

    def get_code(self, name):
        """For `-m triton.tools.compile`."""
        real = "nereid." + name
        return importlib.util.find_spec(real).loader.get_code(real)

    def create_module(self, spec):
        module = importlib.import_module("nereid." + spec.name)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        # The import system has put the alias's spec into the module; it keeps its own. Threads import at once.
        module.__spec__ = module.__spec__.loader_state or module.__spec__


def install():
    import importlib.util  # noqa: F401  of the finder

    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if "triton" in sys.modules and not sys.modules["triton"].__name__.startswith("nereid"):
        raise ImportError("another `triton` is imported already; call `nereid.install()` before that")
    sys.meta_path.insert(0, _Finder())
    from nereid import _mutations
    from nereid.triton.runtime import _sources

    # Under their other name at once: the import of a module sets it as an attribute of its parent, and
    # `runtime.driver` is an object that has its module's name.
    for name, module in list(sys.modules.items()):
        if name == "nereid.triton" or name.startswith("nereid.triton."):
            sys.modules.setdefault(name[len("nereid."):], module)
    _sources.watch()
    _mutations.watch()
    # Inductor's compile processes would import the `triton` that is installed.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
