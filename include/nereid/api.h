// What the library `nereid` shows of itself: everything else in it is hidden.
#pragma once

#define NEREID_API __attribute__((visibility("default")))
