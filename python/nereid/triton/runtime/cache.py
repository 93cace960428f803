"""The names of compiled kernels, and files of programs that keep some beside Triton's. What the engine keeps on disk it
names and checks itself."""
import base64
import hashlib
import json
import os
import uuid

from nereid import _C

from .. import knobs


def triton_key():
    """Changes when the same kernel may become other code."""
    return f"nereid-{_C.version}"


def default_cache_dir():
    return knobs.cache.dir


class CacheManager:
    """Files of one key."""

    def get_file(self, filename):
        raise NotImplementedError

    def put(self, data, filename, binary=True):
        raise NotImplementedError

    def get_group(self, filename):
        """{name: path} of files that were stored together, or None if one of them is gone."""
        listed = self.get_file(f"__grp__{filename}")
        if listed is None:
            return None
        with open(listed) as file:
            names = json.load(file).get("child_paths", {})
        paths = {name: self.get_file(name) for name in names}
        return paths if paths and None not in paths.values() else None

    def put_group(self, filename, group):
        return self.put(json.dumps({"child_paths": {name: os.path.basename(path) for name, path in group.items()}}),
                        f"__grp__{filename}", binary=False)


class FileCacheManager(CacheManager):
    """In a folder of `knobs.cache.dir` named by the key."""

    def __init__(self, key, override=False, dump=False):
        self.key = key
        self.cache_dir = os.path.join(knobs.cache.dir, key)

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename):
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        return self._make_path(filename) if self.has_file(filename) else None

    def put(self, data, filename, binary=True):
        os.makedirs(self.cache_dir, exist_ok=True)
        path = self._make_path(filename)
        other = f"{path}.{os.getpid()}_{uuid.uuid4()}"  # other processes see the whole file or none
        with open(other, "wb" if isinstance(data, bytes) else "w") as file:
            file.write(data)
        os.replace(other, path)
        return path


class RemoteCacheBackend:
    """What `knobs.cache.remote_manager_class` derives from."""

    def __init__(self, key):
        pass

    def get(self, filenames):
        raise NotImplementedError

    def put(self, filename, data):
        raise NotImplementedError


class RemoteCacheManager(CacheManager):
    """Elsewhere; files come here when they are asked for."""

    def __init__(self, key, override=False, dump=False):
        self._backend = knobs.cache.remote_manager_class(key)
        self._here = FileCacheManager(key)

    def get_file(self, filename):
        data = self._backend.get([filename]).get(filename)
        return None if data is None else self._here.put(data, filename)

    def put(self, data, filename, binary=True):
        self._backend.put(filename, data if isinstance(data, bytes) else data.encode())
        return filename


def _manager(key):
    return (knobs.cache.manager_class or FileCacheManager)(key)


def get_cache_manager(key):
    return _manager(_base32(key))


get_override_manager = get_dump_manager = get_cache_manager


def get_cache_key(src, backend, backend_options, env_vars):
    return "-".join(map(str, (triton_key(), src.hash(), backend, backend_options, sorted(env_vars.items()))))


def make_so_cache_key(version_hash, signature, constants, ids, **kwargs):
    text = "-".join(map(str, (version_hash, sorted(signature.items()), sorted(constants.items()), ids,
                              sorted(kwargs.items()))))
    return _base32(hashlib.sha256(text.encode()).hexdigest())


def _base32(key):
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")
