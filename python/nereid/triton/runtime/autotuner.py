"""`triton.autotune` and `triton.heuristics`."""
import builtins
import concurrent.futures
import copy
import functools
import inspect
import json
import os
import time
import warnings

from nereid import _C

from .. import knobs
from .._C.libtriton import get_cache_invalidating_env_vars  # noqa: F401
from ..tools.tensor_descriptor import TensorDescriptor
from ._results import Memory, Results
from .cache import get_cache_manager, triton_key  # noqa: F401
from .driver import current_device, driver
from .errors import AutotunerError, OutOfResources, PTXASError, raise_for_key
from .jit import JITFunction, KernelInterface


class Config:
    """Values of meta-parameters and options that a kernel may be launched with."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None,
                 **others):
        self.kwargs = dict(kwargs)
        self.num_warps, self.num_stages, self.num_ctas, self.maxnreg = num_warps, num_stages, num_ctas, maxnreg
        self.pre_hook, self.ir_override = pre_hook, ir_override

    def __setstate__(self, state):
        self.__init__({})
        self.__dict__.update(state)

    def all_kwargs(self):
        options = {"num_warps": self.num_warps, "num_ctas": self.num_ctas, "num_stages": self.num_stages,
                   "maxnreg": self.maxnreg, "ir_override": self.ir_override}
        return {**self.kwargs, **{name: value for name, value in options.items() if value is not None}}

    def _key(self):
        return (tuple(sorted(self.all_kwargs().items(), key=lambda item: item[0])), self.pre_hook)

    def __str__(self):
        words = [f"{name}: {value}" for name, value in self.kwargs.items()]
        words += [f"num_warps: {self.num_warps}", f"num_ctas: {self.num_ctas}", f"num_stages: {self.num_stages}",
                  f"maxnreg: {self.maxnreg}"]
        if self.ir_override is not None:
            words.append(f"ir_override: {self.ir_override}")
        return ", ".join(words)

    __repr__ = __str__

    def __hash__(self):
        return hash((*self.all_kwargs().items(), self.pre_hook))

    def __eq__(self, other):
        return isinstance(other, Config) and self._key() == other._key()


def _memory(tensor):
    found = Memory(tensor)
    if not found.is_dense:
        raise TypeError(f"autotune cannot reset or restore a tensor of type {type(tensor).__qualname__} that is not contiguous and has no "
                        "`zero_()` and `copy_()` of its own")
    return found


def _zero(tensor):
    if hasattr(tensor, "zero_"):
        tensor.zero_()
    elif hasattr(tensor, "fill"):
        tensor.fill(0)
    else:
        memory = _memory(tensor)
        memory.put(bytes(memory.bytes))


def _copy(tensor):
    if hasattr(tensor, "clone") or hasattr(tensor, "copy"):
        return tensor.clone() if hasattr(tensor, "clone") else tensor.copy()
    return _memory(tensor).copy()


def _put(tensor, values):
    if hasattr(tensor, "copy_"):
        tensor.copy_(values)
    elif type(values) is bytes:
        _memory(tensor).put(values)
    else:
        tensor[...] = values


_turn = 0.05  # of the time for a configuration, where close ones are measured again

_text = functools.lru_cache(256)(str)  # numpy's types take long to spell


def _kernel(decorator, fn):
    if not hasattr(fn, "arg_names"):
        raise TypeError(f"triton.{decorator} decorates a kernel, not {fn!r}: `@triton.jit` goes below it")
    return fn


class _Faults:
    """Configurations that cost an earlier process its GPU, kept beside what `cache_results` keeps: of the same kernel, arguments,
    and version of Nereid."""

    def __init__(self, path):
        self.path, self.names = path.removesuffix(".json") + ".faults.json", []
        try:
            with open(self.path) as file:
                found = json.load(file)
            self.names = list(found["configs"]) if found["nereid"] == _C.version else []
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def add(self, config):
        self.names.append(str(config))
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(f"{self.path}.{os.getpid()}", "w") as file:
                json.dump({"nereid": _C.version, "configs": self.names}, file)
            os.replace(f"{self.path}.{os.getpid()}", self.path)
        except OSError as failure:
            return f"it cannot be kept as refused: {failure}"
        return f"`{self.path}` refuses it from now on: start the program again to go on"


def _is_lost():
    """Whether the device of the last launch is lost, which another framework may have noticed first."""
    device = _C.last_launch()[0]
    try:
        _C.synchronize(device)
    except Exception:
        pass
    return not _C.usable(device)


def _configs(configs):
    one = configs if hasattr(configs, "kwargs") or not hasattr(configs, "__iter__") else None
    if one is None:
        configs = list(configs)
        one = next((config for config in configs if not hasattr(config, "kwargs")), None)
        if one is None:
            return configs
    raise TypeError(f"`configs` of `triton.autotune` is a list of `triton.Config`, as in [triton.Config({{'BLOCK': 64}})], "
                    + ("not one of them" if hasattr(one, "kwargs") else f"not {one!r}" if one is configs else f"and {one!r} is none"))


class Autotuner(KernelInterface):
    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=None, post_hook=None,
                 prune_configs_by=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None,
                 cache_results=False):
        self.configs = _configs(configs) or [Config({}, num_warps=4, num_stages=3, num_ctas=1)]
        self._tuned = {name for config in self.configs for name in config.kwargs}
        self.keys, self.cache, self.arg_names = list(key), {}, arg_names
        self.cache_results = cache_results or bool(knobs.autotuning.cache)
        self.reset_to_zero, self.restore_value = list(reset_to_zero or []), list(restore_value or [])
        self._user_pre_hook, self._user_post_hook = pre_hook, post_hook
        self.user_defined_pre_hook, self.user_defined_post_hook = pre_hook is not None, post_hook is not None
        self._saved = {}
        self.pre_hook = pre_hook or (lambda kwargs, reset_only=False: self._restore_before(kwargs, reset_only))
        self.post_hook = post_hook or (lambda kwargs, exception: self._restore_after(kwargs))
        prune = prune_configs_by or {}
        self.perf_model = prune.get("perf_model")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.early_config_prune = prune.get("early_config_prune")
        self.fn = fn
        self.base_fn = fn
        while not inspect.isfunction(self.base_fn):
            self.base_fn = self.base_fn.fn
        self.__name__, self.__doc__ = self.base_fn.__name__, self.base_fn.__doc__
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        self._do_bench = do_bench
        self.nargs = None
        self._least = float("inf")  # milliseconds of the fastest configuration so far
        self._share = 1  # of the time for a configuration that it is measured for now
        self._results = self._faults = None  # of the tuning that runs
        self.bench_time = None
        self.best_config = None

    def _restore_before(self, kwargs, reset_only):
        for name in self.reset_to_zero:
            if kwargs[name] is not None:
                _zero(kwargs[name])
        if not reset_only:
            self._saved = {name: _copy(kwargs[name]) for name in self.restore_value if kwargs[name] is not None}

    def _restore_after(self, kwargs):
        for name, values in self._saved.items():
            _put(kwargs[name], values)
        self._saved = {}

    @property
    def do_bench(self):
        if self._do_bench is not None:
            return self._do_bench
        from .. import testing

        if self.use_cuda_graph:
            return lambda call, quantiles: testing.do_bench_cudagraph(call, rep=self.num_reps or 20, quantiles=quantiles)
        warmup = 25 if self.num_warmups is None else self.num_warmups
        return lambda call, quantiles: testing._do_bench(call, warmup * self._share, self._rep * self._share, quantiles=quantiles,
                                                         least=self._least, is_glance=self._share == 1)

    @property
    def _rep(self):
        return 100 if self.num_reps is None else self.num_reps

    def _look_again(self, args, timings, kwargs):
        """Measures those that came close to the fastest at a glance once more, in turns: one after the other they were measured at times of their own,
        with the clocks and the load of then. What disturbs a turn makes it longer, so each one's shortest counts."""
        from .. import testing

        least = builtins.min(found[0] if isinstance(found, (list, tuple)) else found for found in timings.values())
        if self._do_bench is not None or self.use_cuda_graph or testing._mode() or least > self._rep * _turn:
            return
        close = sorted((found, i, config) for i, (config, found) in enumerate(timings.items()) if found[0] <= 1.1 * least)[:4]
        if len(close) < 2:
            return
        self._least, self._share, self._results = float("inf"), _turn, None
        try:
            turns = [[self._bench(*args, config=config, **kwargs) for _, _, config in close] for _ in range(3)]
        finally:
            self._share = 1
        for (_, _, config), found in zip(close, zip(*turns)):
            timings[config] = builtins.min(found)

    def _build(self, args, configs, meta):
        """Compiles for all configurations at once, on all processors; `_bench` then finds the code. Gives what compiled, None for what did
        not.

        A configuration's hook may change descriptors that all of them share, so it sees copies here. What fails is
        told when that configuration is measured.
        """

        def one(config):
            mine = {name: copy.copy(value) if isinstance(value, TensorDescriptor) else value
                    for name, value in {**self.nargs, **meta, **config.all_kwargs()}.items()}
            try:
                if config.pre_hook and any(isinstance(value, TensorDescriptor) for value in mine.values()):
                    config.pre_hook(mine)
                words = {name: mine[name] for name in (*meta, *config.all_kwargs())}
                return self.fn.run(*(mine[name] for name in self.arg_names[:len(args)]), **{**words, "warmup": True})
            except Exception:
                return None

        if knobs.runtime.interpret or len(configs) < 2:
            return [None] * len(configs)
        with concurrent.futures.ThreadPoolExecutor(builtins.min(len(configs), os.cpu_count() or 1)) as pool:
            return list(pool.map(one, configs))

    def _twins(self, configs, built):
        """{configuration: an earlier one}, which is the same launch of the same code: on a CPU warps and stages make none of their own."""
        if self._do_bench is not None or current_device() >= 0 or not {"num_warps", "num_stages", "maxnreg"}.isdisjoint(self.arg_names):
            return {}
        twins, seen = {}, []
        for config, kernel in zip(configs, built):
            if kernel is None:
                continue
            launch = (config.kwargs, config.pre_hook, config.num_ctas, kernel._handle.code())
            twin = next((other for other, same in seen if same == launch), None)
            if twin is None:
                seen.append((config, launch))
            else:
                twins[config] = twin
        return twins

    def _bench(self, *args, config, **meta):
        if knobs.autotuning.print:
            print(f"Autotuning kernel {self.base_fn.__name__} with config {config}")
        current = {**meta, **config.all_kwargs()}
        full = {**self.nargs, **current}
        results = self._results

        def call():
            nonlocal results
            if results:
                results.begin()
            if config.pre_hook:
                config.pre_hook(full)
            self.pre_hook(full)
            try:
                self.fn.run(*args, **current)
                if results:
                    results.end(config)
                    results = None  # the first launch alone
            except Exception as failure:
                try:
                    self.post_hook(full, exception=failure)
                finally:
                    raise
            self.post_hook(full, exception=None)

        from ..compiler.errors import CompileTimeAssertionFailure

        try:
            return self.do_bench(call, quantiles=(0.5, 0.2, 0.8))
        except (OutOfResources, CompileTimeAssertionFailure, PTXASError) as failure:
            if knobs.autotuning.print:
                print(f"Autotuning failed with {failure}")
            return [float("inf")] * 3
        except Exception as failure:
            if not self._faults or not _is_lost():
                raise
            raise RuntimeError(f"autotune of `{self.base_fn.__name__}` ends at the configuration ({config}): {failure}; "
                               f"{self._faults.add(config)}") from failure

    def _disk_path(self, key, configs):
        import hashlib

        fn = self.fn
        while not isinstance(fn, JITFunction):
            fn = fn.fn
        text = "-".join([str(driver.active.get_current_target()), fn.cache_key, str(key), *map(str, configs)])
        folder = os.environ.get("NEREID_CACHE_DIR") or os.path.expanduser("~/.cache/nereid")
        if knobs.cache.dir != knobs.cache.get_triton_dir("cache"):  # a program wants its own
            folder = os.path.join(knobs.cache.dir, "nereid")
        folder = os.path.join(folder, "autotune")
        return os.path.join(folder, hashlib.sha256(text.encode()).hexdigest() + f".{self.base_fn.__name__}.json")

    def _from_disk(self, key, configs, benchmark):
        if not self.cache_results or any(config.pre_hook for config in configs):
            benchmark()
            return False
        path = self._disk_path(key, configs)
        try:
            with open(path) as file:
                rows = json.load(file)["configs_timings"]
            timings = {Config(**row): timing for row, timing in rows}
            self.cache[key] = builtins.min(timings, key=timings.get)
            self.configs_timings = timings
            return True
        except (OSError, ValueError, KeyError, TypeError):
            pass
        benchmark()
        rows = [[{k: v for k, v in config.__dict__.items() if k != "pre_hook"}, timing]
                for config, timing in self.configs_timings.items()]
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(f"{path}.{os.getpid()}", "w") as file:
                json.dump({"key": [str(one) for one in key], "configs_timings": rows}, file)
            os.replace(f"{path}.{os.getpid()}", path)
        except (OSError, TypeError):
            pass
        return False

    def _tell(self, key, cache_hit):
        if knobs.autotuning.listener:
            fn = self.fn
            while not isinstance(fn, JITFunction) and hasattr(fn, "fn"):
                fn = fn.fn
            knobs.autotuning.listener(fn=fn, key=key, best_config=self.cache[key], configs_timings=self.configs_timings,
                                      duration=None if cache_hit else self.bench_time, cache_hit=cache_hit)

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        used_cached = True
        if conflicts := kwargs.keys() & self._tuned:
            raise ValueError(f"Conflicting meta-parameters: {', '.join(conflicts)}. Make sure that you don't re-define "
                             "auto-tuned symbols.")
        if len(self.configs) > 1:
            known = {**self.nargs, **kwargs}
            known = {name: value for name, value in known.items() if name in self.arg_names}
            key = [known[name] for name in self.keys if name in known]
            # A descriptor's elements too: what is best for halves need not be for bytes.
            bases = [value.base if isinstance(value, TensorDescriptor) else value for value in known.values()]
            key += [_text(base.dtype) for base in bases if hasattr(base, "dtype")]
            key = tuple(key)
            if key not in self.cache:
                used_cached = False
                pruned = self.prune_configs(kwargs)
                if len(pruned) == 1:  # nothing to measure
                    used_cached, self.cache[key] = True, pruned[0]

                def benchmark():
                    start = time.time()
                    self._faults = _Faults(self._disk_path(key, self.configs)) if current_device() >= 0 else None
                    wanted = [config for config in pruned if not self._faults or str(config) not in self._faults.names]
                    if not wanted:
                        raise AutotunerError(f"each configuration of `{self.base_fn.__name__}` has faulted before; remove "
                                             f"`{self._faults.path}` to try them again")
                    built = self._build(args, wanted, kwargs)
                    timings, self._least = {config: [float("inf")] * 3 for config in pruned}, float("inf")
                    twins = self._twins(wanted, built)
                    distinct = [(config, one) for config, one in zip(wanted, built) if config not in twins]
                    self._results = results = Results.of([one for _, one in distinct if one is not None], {**self.nargs, **kwargs})
                    for config, _ in distinct:
                        timings[config] = found = self._bench(*args, config=config, **kwargs)
                        self._least = builtins.min(self._least, found[0] if isinstance(found, (list, tuple)) else found)
                    for config, count in results.wrong() if results else ():
                        warnings.warn(f"autotune of `{self.base_fn.__name__}`: the configuration ({config}) gives other results than {count} "
                                      f"others of {len(pruned)} and is not taken; NEREID_AUTOTUNE_CHECK=0 turns the comparison off",
                                      RuntimeWarning, stacklevel=4)
                        timings[config] = [float("inf")] * 3
                    self._look_again(args, timings, kwargs)
                    timings.update({config: timings[other] for config, other in twins.items()})
                    self.bench_time = time.time() - start
                    self.cache[key] = builtins.min(timings, key=timings.get)
                    full = {**self.nargs, **kwargs, **self.cache[key].all_kwargs()}
                    self.pre_hook(full, reset_only=True)
                    self.configs_timings = timings

                if len(pruned) > 1:
                    used_cached = self._from_disk(key, pruned, benchmark)
                    self._tell(key, used_cached)
            config = self.cache[key]
        else:
            config = self.configs[0]
        self.best_config = config
        if knobs.autotuning.print and not used_cached:
            print(f"Triton autotuning for function {self.base_fn.__name__},\nwith key as {key},\nfinished after "
                  f"{self.bench_time:.2f}s,\nbest config selected: {self.best_config};")
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result

    def prune_configs(self, kwargs):
        pruned = self.configs
        if self.early_config_prune:
            pruned = self.early_config_prune(self.configs, self.nargs, **kwargs)
            if not pruned:
                raise AutotunerError("No valid autotuner configs after pruning. `early_config_prune` should return at "
                                     "least one config.")
        if self.perf_model:
            top = self.configs_top_k
            if isinstance(top, float) and top <= 1.0:
                top = builtins.max(1, int(len(pruned) * top))
            elif not isinstance(top, int):
                raise TypeError("Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int")
            if len(pruned) > top:
                cost = {config: self.perf_model(**self.nargs, **kwargs, **config.all_kwargs()) for config in pruned}
                pruned = sorted(cost, key=cost.get)[:top]
        return pruned

    def warmup(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        result = [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in self.prune_configs(kwargs)]
        self.nargs = None
        return result


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None,
             warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
    """Measures a kernel's configurations when a value of `key` is new, and takes the fastest from then on."""

    def decorator(fn):
        return Autotuner(_kernel("autotune", fn), fn.arg_names, configs, key, reset_to_zero, restore_value,
                         pre_hook=pre_hook, post_hook=post_hook, prune_configs_by=prune_configs_by, warmup=warmup, rep=rep,
                         use_cuda_graph=use_cuda_graph, do_bench=do_bench, cache_results=cache_results)

    return decorator


class Heuristics(KernelInterface):
    def __init__(self, fn, arg_names, values):
        self.fn, self.values, self.arg_names = fn, values, arg_names
        self.base_fn = fn
        while not inspect.isfunction(self.base_fn):
            self.base_fn = self.base_fn.fn
        self.__name__, self.__doc__ = self.base_fn.__name__, self.base_fn.__doc__

    def run(self, *args, **kwargs):
        for name, heuristic in self.values.items():
            given = {**dict(zip(self.arg_names, args)), **kwargs}
            try:
                kwargs[name] = heuristic(given)
            except KeyError as failure:
                raise_for_key(heuristic, given, failure, f"heuristic `{name}` of `{self.__name__}`", "the arguments of the launch")
        return self.fn.run(*args, **kwargs)


def heuristics(values):
    """Computes meta-parameters from the arguments of each launch."""

    def decorator(fn):
        return Heuristics(_kernel("heuristics", fn), fn.arg_names, values)

    return decorator
