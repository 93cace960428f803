// Which threads and locks are this process's.
#pragma once

namespace nereid::support {

/// How many forks lie between this process and the first one of the program that asked. What was
/// made under another count has lost its threads to the parent, and its locks may be held for ever.
unsigned forkCount();

} // namespace nereid::support
