// Where messages for a person go that belong to no result: what was tried, what was skipped. The
// library prints nothing by itself; a program that wants to see them sets a sink.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace nereid::support {

enum class LogLevel : uint8_t { Debug, Info, Warning };

using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Sets the process's sink; an empty one drops everything, which is the state at first. The sink is
/// called by any thread, one call at a time.
void setLogSink(LogSink sink);

/// Whether somebody listens; ask before building an expensive message.
bool logEnabled();

void log(LogLevel level, std::string_view message);

} // namespace nereid::support
