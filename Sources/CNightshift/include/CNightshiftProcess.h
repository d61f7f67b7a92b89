// Processes of apps: what has to happen between fork and exec, and the guardian, which lives in a fork without exec.
#ifndef CNIGHTSHIFT_PROCESS_H
#define CNIGHTSHIFT_PROCESS_H

#include <stdint.h>
// For Swift, because its Glibc module does not include them.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/types.h>

/// The settings for starting a process. The caller keeps ownership of the descriptors.
struct nightshift_launch {
    /// An absolute path.
    const char *program;
    char *const *arguments;
    char *const *environment;
    const char *directory;
    /// The descriptor for standard output and standard error.
    int output;
    /// A file to which the id of the process is written when its program begins, as a 32-bit number, or -1. The file
    /// outlives both processes.
    int begun;
    /// `cgroup.procs` of the process's cgroup, or -1.
    int cgroup;
    /// The umask, or -1 for that of the caller.
    int mask;
    /// The soft limit of open descriptors, or -1 for that of the caller; never above the hard one.
    int64_t open_files;
};

/// The step of a launch that failed.
enum nightshift_launch_step {
    nightshift_launch_fork,
    nightshift_launch_input,
    nightshift_launch_output,
    nightshift_launch_directory,
    nightshift_launch_cgroup,
    nightshift_launch_exec,
};

/// Makes a process in a session of its own, with default signals, input from /dev/null, no other descriptor, and the
/// nice value of the main thread. Its program waits for `nightshift_launch_begin`; where `gate` is closed before, as by
/// the end of this process, it never runs.
///
/// Returns when all is ready for the program to begin: 0, or an error number and the step. A failure leaves nothing
/// that has to be cleaned up.
int nightshift_launch(const struct nightshift_launch *launch, pid_t *child, int *gate, int *step);

/// Lets the program run, and closes `gate`. Returns when it does: 0, or an error number; then the process ends with
/// status 127.
///
/// Waits at most five seconds for a process that was stopped.
int nightshift_launch_begin(int gate);

/// pidfd_open(2): a descriptor that becomes readable when the process ends, or -1.
int nightshift_pidfd_open(pid_t process);

/// Waits for a child by its pidfd, like waitpid(2) with `options`. Returns its id, 0 with WNOHANG while it runs, or -1.
pid_t nightshift_pidfd_wait(int pidfd, int *status, int options);

/// The maximum number of processes or cgroups in the table of the guardian.
#define NIGHTSHIFT_GUARDIAN_CAPACITY 1024
/// Forks the guardian, which keeps a table of frozen processes and cgroups. When the other end of `socket` is closed
/// for any reason, it thaws all entries of the table and ends. It keeps no other descriptor. Returns 0 or an error
/// number.
int nightshift_guardian_start(int socket, pid_t *guardian);

/// Creates a pair of connected sockets for the guardian, both closed on exec. Returns 0 or an error number.
int nightshift_guardian_sockets(int sockets[2]);

/// Reports to the guardian that a process group is about to be frozen, or runs again. Returns 0 or an error number.
///
/// `start_time` guards against a reused process id. `freeze` is the cgroup's `cgroup.freeze`; null for a
/// process group, which gets SIGCONT. Never raises SIGPIPE; waits up to one second for a guardian that does not read.
int nightshift_guardian_tell(int socket, int frozen, pid_t process, uint64_t start_time, const char *freeze);

#endif
