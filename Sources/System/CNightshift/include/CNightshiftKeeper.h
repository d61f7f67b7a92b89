// The keeper of an app's log: a process that reads the app's output and keeps the last part of it, up to a limit.
#ifndef CNIGHTSHIFT_KEEPER_H
#define CNIGHTSHIFT_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

/// The files and limits of a keeper. The caller keeps ownership of the descriptors.
struct nightshift_keeper {
    /// The descriptor for reading the FIFO to which the app writes.
    int input;
    /// The descriptor of a file that is locked while a keeper runs, so that only one keeper at a time reads a FIFO.
    int lock;
    /// The absolute path of the log. The older half has the same path with `.1` appended.
    const char *log;
    /// The maximum size of each half in bytes.
    int64_t limit;
};

/// Starts a keeper. The keeper ends when no process can write to the FIFO, or at once if another keeper is running.
///
/// The keeper is a detached fork that keeps only these descriptors. Returns 0 or an error number.
int nightshift_keeper_start(const struct nightshift_keeper *keeper, pid_t *process);

/// Returns the process that holds the lock of a keeper, 0 if no process does, or -1 with errno set on failure.
pid_t nightshift_keeper_of(int lock);

/// Releases the memory that the parent program allocated, in a fork that never executes another program.
///
/// Otherwise the fork would keep all memory of the parent at the time of the fork. Do not allocate memory afterwards.
void nightshift_drop_memory(void);

#endif
