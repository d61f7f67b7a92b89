// Processes of apps: what has to happen between fork and exec, and the guardian, which lives in a fork without exec.
#ifndef CNIGHTSHIFT_PROCESS_H
#define CNIGHTSHIFT_PROCESS_H

#include <stdint.h>
// For Swift, whose Glibc module leaves them out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/types.h>

/// What a process is started with; descriptors stay the caller's.
struct nightshift_launch {
    /// An absolute path.
    const char *program;
    char *const *arguments;
    char *const *environment;
    const char *directory;
    /// Where both outputs go.
    int output;
    /// A file that gets the id of the process when its program begins, as a 32-bit number, or -1: that outlives both.
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

/// Makes a process in a session of its own, with default signals, input from /dev/null, no other descriptor, and the nice
/// value of the main thread. Its program waits for `nightshift_launch_begin`; where `gate` is closed before, as by the end of this
/// process, it never runs.
///
/// Returns when everything but the program is done: 0, or an error number and the step. Nothing is left behind by a failure.
int nightshift_launch(const struct nightshift_launch *launch, pid_t *child, int *gate, int *step);

/// Lets the program run, and closes `gate`. Returns when it does: 0, or an error number; then the process ends with status 127.
///
/// Does not wait longer than five seconds for a process that something has stopped.
int nightshift_launch_begin(int gate);

/// pidfd_open(2): a descriptor that becomes readable when the process ends, or -1.
int nightshift_pidfd_open(pid_t process);

/// Waits for a child by its pidfd, as waitpid(2) does with `options`: its id, 0 with WNOHANG while it runs, or -1.
pid_t nightshift_pidfd_wait(int pidfd, int *status, int options);

/// Processes or cgroups that the guardian can hold.
#define NIGHTSHIFT_GUARDIAN_CAPACITY 1024
/// Forks the guardian, which keeps a table of what is frozen. When the other end of `socket` is closed, however that
/// comes, it thaws what is still in the table, and ends. It keeps no other descriptor. Returns 0 or an error number.
int nightshift_guardian_start(int socket, pid_t *guardian);

/// A pair of connected sockets for the guardian, both closed by exec; 0 or an error number.
int nightshift_guardian_sockets(int sockets[2]);

/// Tells the guardian that a process's group is about to be frozen, or runs again; 0 or an error number.
///
/// `start_time` guards against a number that is given again. `freeze` is the cgroup's `cgroup.freeze`; null for a
/// process group, which gets SIGCONT. Never raises SIGPIPE; waits for a guardian that does not read for a second.
int nightshift_guardian_tell(int socket, int frozen, pid_t process, uint64_t start_time, const char *freeze);

#endif
