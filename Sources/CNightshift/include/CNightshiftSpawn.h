// Starts a program independently of this one: posix_spawn(3) with functions that glibc hides with feature macros.
#ifndef CNIGHTSHIFT_SPAWN_H
#define CNIGHTSHIFT_SPAWN_H

#include <sys/types.h>

/// Starts `program` in a session of its own, in `/`, with default signals, input from /dev/null, both outputs to the
/// end of the file `log` (made with mode 0600), and no other descriptor; `output`, unless it is -1, is its standard
/// output instead of the log. Returns 0 or an error number.
int nightshift_spawn_detached(
    pid_t *child, const char *program, char *const arguments[], char *const environment[], const char *log, int output);

#endif
