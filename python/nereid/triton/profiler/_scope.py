"""Named parts of a program."""
import functools
import time

from . import _session


class _Open:
    """A scope that is open: whether launches happened in it says who measures its time."""

    def __init__(self, name, metrics, measured):
        self.name, self.metrics, self.launches = name, metrics, 0
        self.first = _session._event() if measured else None


class scope:
    """`with scope(name, metrics):`, or a decorator. Metrics such as `flops16` and `bytes` are added to the scope."""

    measures_cpu = False

    def __init__(self, name, metrics=None):
        self.name, self.metrics = name, metrics

    def __enter__(self):
        enter_scope(self.name, metrics=self.metrics)
        self.since = time.perf_counter_ns()
        return self

    def __exit__(self, *_):
        spent = {"cpu_time (ns)": time.perf_counter_ns() - self.since} if self.measures_cpu else None
        exit_scope(self.name, metrics=spent)

    def __call__(self, function):
        @functools.wraps(function)
        def within(*args, **kwargs):
            with type(self)(self.name, self.metrics):
                return function(*args, **kwargs)

        return within


class cpu_timed_scope(scope):
    """A scope with the time that the processor spends in it."""

    measures_cpu = True


def enter_scope(name, *, metrics=None):
    _session.here.names.append(_Open(name, metrics, bool(_session._active())))


def exit_scope(name=None, *, metrics=None):
    names = _session.here.names
    if not names or (name is not None and names[-1].name != name):
        raise ValueError(f"the scope {name!r} is not the one that is open")
    path = [one.name for one in names]
    done = names.pop()
    metrics = {**(done.metrics or {}), **(metrics or {})}
    measured = done.launches == 0 and done.first is not None
    if names and (done.launches or measured):
        names[-1].launches += 1
    if not measured and not metrics:
        return
    last = _session._event() if measured else None
    with _session._lock:
        for session in _session._active():
            node = _session.node_of(session, path)
            node.add(metrics)
            if measured:
                session.note(node, done.first, last)


def enter_state(name):
    enter_scope(name)


def exit_state():
    exit_scope()


class state(scope):
    """A scope without metrics."""

    def __init__(self, name):
        super().__init__(name)
