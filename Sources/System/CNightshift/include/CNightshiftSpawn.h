// Starts a program independently of this one: posix_spawn(3) with functions that glibc hides with feature macros.
#ifndef CNIGHTSHIFT_SPAWN_H
#define CNIGHTSHIFT_SPAWN_H

#include <sys/types.h>

/// Starts `program` in its own session, in the directory `/`, with default signals and input from /dev/null. Standard
/// output and standard error are appended to the file `log`, which is created with mode 0600 if it does not exist. If
/// `output` is not -1, it is used as standard output instead. The program gets no other descriptors. Returns 0 or an
/// error number.
int nightshift_spawn_detached(
    pid_t *child, const char *program, char *const arguments[], char *const environment[], const char *log, int output);

#endif
