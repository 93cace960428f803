/* What the C examples share: a call that ends `main` on an error, and arguments of a launch. */
#ifndef CALL_H
#define CALL_H

#include <nereid/c.h>

#include <stdio.h>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    if ((call) != NEREID_OK) {                                                                     \
      fprintf(stderr, "%s: %s\n", #call, nereid_last_error());                                     \
      return 1;                                                                                    \
    }                                                                                              \
  } while (0)

static nereid_argument pointer(void *data) {
  nereid_argument argument = {NEREID_ARG_POINTER, NEREID_FLOAT32, NULL, {0}};
  argument.value.pointer = data;
  return argument;
}

static nereid_argument integer(const char *name, int64_t value) {
  nereid_argument argument = {NEREID_ARG_INT, NEREID_INT64, name, {0}};
  argument.value.integer = value;
  return argument;
}

#endif
