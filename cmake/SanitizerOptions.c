/* What a sanitized program of ours does unless ASAN_OPTIONS, UBSAN_OPTIONS or TSAN_OPTIONS say
   otherwise, however it is started. Debian's LLVM is not instrumented: containers that it grows
   look overflowed to our code, and arenas that our code has poisoned, in functions of its headers,
   are handed out by its own without a word. Faults of memory are the program's own to handle, as in
   a build that ships: kernels' are caught and told by line. `ASAN_OPTIONS=handle_segv=1` shows the
   stack of another. A race ends the program where it is found, so that what it printed last is the
   race. */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char *__asan_default_options(void) {
  return "detect_container_overflow=0:allow_user_poisoning=0:handle_segv=0:handle_sigbus=0";
}
EXPORTED const char *__ubsan_default_options(void) { return "print_stacktrace=1"; }
EXPORTED const char *__tsan_default_options(void) { return "halt_on_error=1"; }
