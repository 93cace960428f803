// Which threads are inside the extension, so that the interpreter can end while some of them work.
//
// An interpreter that ends (before 3.14) ends a thread that wants its lock by unwinding the stack,
// through our frames and without the lock. So once `closeThreads` was called, a thread other than
// its caller that comes to the extension, or back from the engine, stays there for good.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace nereid::python {

/// A call of Python's into the extension, with the interpreter's lock held.
class Inside {
public:
  Inside();
  ~Inside();
  Inside(const Inside &) = delete;
};

/// Lets other Python threads run.
class Unlocked {
public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked &) = delete;

private:
  PyThreadState *state;
};

/// Before a fork: waits until no thread works in the engine, since a child would never get the
/// locks that such a thread holds, and lets none in until `afterFork`. Half a minute at most: a
/// kernel that never ends must not keep a program from starting others.
void beforeFork();

/// After it, in the parent or in the child, where the calls of other threads count no longer.
void afterFork(bool inChild);

/// At the interpreter's end, with its lock held: waits until the calls of other threads have come
/// to the engine or to an end, a few seconds at most.
void closeThreads();

} // namespace nereid::python
