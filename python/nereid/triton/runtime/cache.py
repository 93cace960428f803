"""The names of compiled kernels. What the engine keeps on disk it names and checks itself."""
import base64

from nereid import _C

from .. import knobs


def triton_key():
    """Changes when the same kernel may become other code."""
    return f"nereid-{_C.version}"


def default_cache_dir():
    return knobs.cache.dir


def _base32(key):
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")
