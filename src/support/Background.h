// Work that nobody waits for.
#pragma once

#include <functional>

namespace nereid::support {

/// Queues a task for the process's one background thread, which lives while there are tasks. They
/// run one after the other; at the end of the process the one that runs is waited for, and the rest
/// is dropped.
void inBackground(std::function<void()> task);

/// Waits until no task runs and starts none until `resumeBackground`: before a fork, whose child
/// has no such thread, but the locks it holds.
void pauseBackground();
void resumeBackground(bool inForkedChild);

} // namespace nereid::support
