"""Sessions: what is measured from `start` to `finalize`."""
import functools
import json
import sys
import threading
import time

from .. import knobs
from ..runtime.driver import current_device
from .mode import BaseMode

DEFAULT_PROFILE_NAME = "proton"

_sessions = {}
_next = 0
_lock = threading.RLock()


class Node:
    """A scope or a kernel in the tree of a session."""

    def __init__(self, name):
        self.name, self.children, self.metrics, self.count, self.nanoseconds = name, {}, {}, 0, 0.0
        self.device = -1

    def child(self, name):
        known = self.children.get(name)
        if known is None:
            known = self.children[name] = Node(name)
        return known

    def add(self, metrics):
        for name, value in (metrics or {}).items():
            value = value.item() if hasattr(value, "item") else value
            self.metrics[name] = self.metrics.get(name, 0) + value

    def plain(self):
        metrics = dict(self.metrics)
        if self.count:
            metrics.update({"count": self.count, "time (ns)": int(self.nanoseconds), "device_id": str(max(self.device, 0)),
                            "device_type": "CPU" if self.device < 0 else "CUDA"})
        return {"frame": {"name": self.name, "type": "function"}, "metrics": metrics,
                "children": [child.plain() for child in self.children.values()]}


def _event():
    """A point in the work of the current device."""
    if current_device() < 0:
        return time.perf_counter_ns()
    import torch

    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def _between(first, last):
    if isinstance(first, int):
        return last - first
    last.synchronize()
    return first.elapsed_time(last) * 1e6


class Session:
    # Events that wait to be read; more than these are read while the program runs.
    waiting_events = 4096

    def __init__(self, name, context):
        self.name, self.context = name, context
        self.root, self.active, self.pending = Node("ROOT"), True, []

    def note(self, node, first, last):
        node.count += 1
        node.device = current_device()
        self.pending.append((node, first, last))
        if len(self.pending) > self.waiting_events:
            self.settle(self.waiting_events // 2)

    def settle(self, keep=0):
        done, self.pending = self.pending[:len(self.pending) - keep], self.pending[len(self.pending) - keep:]
        for node, first, last in done:
            node.nanoseconds += _between(first, last)

    def write(self):
        self.settle()
        facts = {}
        from ..runtime.driver import driver

        target = driver.active.get_current_target()
        properties = driver.active.utils.get_device_properties()
        facts["CUDA" if target.backend == "cuda" else "CPU"] = {str(max(current_device(), 0)): {
            "arch": str(target.arch), "clock_rate": properties["sm_clock_rate"],
            "memory_clock_rate": properties["mem_clock_rate"], "bus_width": properties["mem_bus_width"],
            "num_sms": properties["multiprocessor_count"]}}
        with open(f"{self.name}.hatchet", "w") as file:
            json.dump([self.root.plain(), facts], file)


class _Thread(threading.local):
    def __init__(self):
        self.names = []  # of the scopes that are open
        self.launch = None


here = _Thread()


def _active():
    return [session for session in _sessions.values() if session.active]


def _functions(frame):
    names = []
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith("nereid."):
            names.append(f"{frame.f_code.co_filename}:{frame.f_code.co_name}@{frame.f_lineno}")
        frame = frame.f_back
    return names[::-1]


def node_of(session, names):
    node = session.root
    path = [*_functions(sys._getframe(2)), *names] if session.context == "python" else names
    for name in path:
        node = node.child(name)
    return node


class _LaunchHooks:
    """Around each launch while a session is active."""

    @staticmethod
    def enter(metadata):
        facts = metadata.get()
        here.launch = (facts, _event())

    @staticmethod
    def leave(metadata):
        if here.launch is None:
            return
        (facts, first), here.launch = here.launch, None
        last = _event()
        for name in here.names:
            name.launches += 1
        metrics = {key: value for key, value in facts.items() if key.startswith(("flops", "bytes"))}
        with _lock:
            for session in _active():
                node = node_of(session, [*(one.name for one in here.names), facts["name"]])
                node.add(metrics)
                session.note(node, first, last)


def _watch():
    enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    if _active():
        enter.add(_LaunchHooks.enter)
        leave.add(_LaunchHooks.leave)
    else:
        enter.remove(_LaunchHooks.enter)
        leave.remove(_LaunchHooks.leave)


def start(name=None, *, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Begins a session; gives its number."""
    global _next
    if data != "tree":
        raise ValueError(f"the profiler makes a tree of scopes, not `{data}`")
    if backend == "instrumentation":
        raise ValueError("the profiler measures whole launches; it does not instrument kernels")
    if isinstance(mode, BaseMode) or str(mode).split(":")[0] == "pcsampling":
        raise ValueError(f"the profiler measures whole launches; `mode={mode}` asks for what lies inside of them (`nereid.profile.record(lines=...)` samples lines of kernels)")
    if context not in ("shadow", "python"):
        raise ValueError(f"`context` is \"shadow\" or \"python\", not {context!r}")
    with _lock:
        number, _next = _next, _next + 1
        _sessions[number] = Session(name or DEFAULT_PROFILE_NAME, context)
        _watch()
    return number


def _chosen(session):
    if session is None:
        return list(_sessions)
    if session not in _sessions:
        raise ValueError(f"there is no session {session}")
    return [session]


def _set_active(session, active):
    with _lock:
        for number in _chosen(session):
            _sessions[number].active = active
        _watch()


def activate(session=None):
    """Measures again."""
    _set_active(session, True)


def deactivate(session=None, flushing=False):
    """Measures nothing until `activate`."""
    _set_active(session, False)


def finalize(session=None, output_format="hatchet"):
    """Ends a session, or all; each writes `<name>.hatchet`."""
    if output_format not in ("", "hatchet"):
        raise ValueError(f"a profile is written as \"hatchet\", not {output_format!r}")
    with _lock:
        for number in _chosen(session):
            _sessions.pop(number).write()
        _watch()


def profile(func=None, *, name=None, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """A function that is a session of its own."""
    if func is None:
        return lambda func: profile(func, name=name, context=context, data=data, backend=backend, mode=mode, hook=hook)

    @functools.wraps(func)
    def profiled(*args, **kwargs):
        session = start(name, context=context, data=data, backend=backend, mode=mode, hook=hook)
        try:
            return func(*args, **kwargs)
        finally:
            finalize(session)

    return profiled
