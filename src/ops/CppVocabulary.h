// The vocabulary as C++ declares it: the generated parts of nereid/tl.h.
#pragma once

#include <string>

namespace nereid::ops {

/// include/nereid/tl_options.inc: what may be left out of each call.
std::string cppOptions();
/// include/nereid/tl_methods.inc: what stands inside of the class `tl::Value`.
std::string cppMethods();
/// include/nereid/tl_functions.inc: functions and names of the namespace `nereid::tl`.
std::string cppFunctions();

} // namespace nereid::ops
