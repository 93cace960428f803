from .core import _fill

_fill(globals(), "target_info.")


def current_target():
    from ..runtime import driver

    return driver.active.get_current_target()
