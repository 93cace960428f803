"""The profiler that programs of Triton import as `triton.profiler`: how long kernels take, by scope.

Launches of this package's kernels are measured between two events of the stream that they go to, on a CPU by its clock.
What a scope runs otherwise, such as an operation of torch, is measured as a whole when no launch lies within it.
`context="python"` puts the functions around a launch above it. Counters of the hardware, traces and instrumentation are
not there: a session that asks for them is refused."""
from . import language, mode
from ._session import DEFAULT_PROFILE_NAME, activate, deactivate, finalize, profile, start
from ._scope import cpu_timed_scope, enter_scope, enter_state, exit_scope, exit_state, scope, state

__all__ = ["DEFAULT_PROFILE_NAME", "activate", "cpu_timed_scope", "deactivate", "enter_scope", "enter_state",
           "exit_scope", "exit_state", "finalize", "language", "mode", "profile", "scope", "start", "state"]
