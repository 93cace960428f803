// What the library `nereid` shows of itself: everything else in it is hidden.
#pragma once

#if __cplusplus < 202002L
#error "the headers of Nereid are C++20: compile with -std=c++20 or later; nereid/c.h is for C"
#endif

#define NEREID_API __attribute__((visibility("default")))

/// The version of these headers; `nereid_version()` is that of the library.
#define NEREID_VERSION "0.1.0"
