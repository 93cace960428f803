// What the library `nereid` shows of itself: everything else in it is hidden.
#pragma once

#define NEREID_API __attribute__((visibility("default")))

/// The version of these headers; `nereid_version()` is that of the library.
#define NEREID_VERSION "0.1.0"
