"""Questions about the target, which kernels and host code ask alike."""
from .core import _fill

_fill(globals(), "target_info.")


def _target():
    from ..runtime import driver

    return driver.active.get_current_target()


def _reaches(major, minor=0):
    target = _target()
    return target.backend == "cuda" and target.arch >= major * 10 + minor


def _never():
    return False


for _name, _on_host in (("current_target", _target), ("is_cuda", lambda: _target().backend == "cuda"),
                        ("cuda_capability_geq", _reaches)):
    globals()[_name].on_host = _on_host
for _name in [_name for _name in globals() if _name.startswith("is_hip")]:
    globals()[_name].on_host = _never
