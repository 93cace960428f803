"""What a program did and how long it took: compilations, launches, copies, on each device.

    import nereid.profile

    with nereid.profile.record("trace.json") as profile:   # for Chrome's viewer and Perfetto
        with nereid.profile.scope("step"):
            step()
    print(profile.table)

    with nereid.profile.record(lines="cuda:0") as profile:  # where kernels wait, by line of their source
        step()
    print(profile.lines)

`NEREID_TRACE=trace.json python -m nereid program.py` records a program from its start to its end as it is.
"""
import contextlib

from nereid import _C


class Profile:
    """`table` has a line for each kind, name and device, the longest first; `lines` each kernel's hottest lines, where they are
    sampled; `notes` what is missing and why. All are empty until the recording has ended."""

    table = ""
    lines = ""
    notes = ()


@contextlib.contextmanager
def record(path=None, lines=None):
    """Records what all threads do inside of it; waits at its end for the work that was queued. Recordings do not nest.

    `lines` is a GPU whose program counters are sampled with what its kernels wait for.
    """
    profile = Profile()
    _C.profile_start(lines)
    try:
        yield profile
    finally:
        profile.table, profile.lines, profile.notes = _C.profile_stop(None if path is None else str(path))


@contextlib.contextmanager
def scope(name):
    """A part of the program, beside what the engine does in it."""
    _C.range_begin(str(name))
    try:
        yield
    finally:
        _C.range_end()
