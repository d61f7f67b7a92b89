// Processes of apps: the steps between fork and exec, and the guardian, which is a fork that never calls exec.
#ifndef CNIGHTSHIFT_PROCESS_H
#define CNIGHTSHIFT_PROCESS_H

#include <stdint.h>
// These headers are included for Swift, because its Glibc module does not include them.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/types.h>

/// The settings for starting a process. The caller keeps ownership of the descriptors.
struct nightshift_launch {
    /// The absolute path of the program.
    const char *program;
    char *const *arguments;
    char *const *environment;
    const char *directory;
    /// The descriptor for standard output and standard error.
    int output;
    /// The descriptor of a file, or -1. When the program begins, the id of the process is written to this file as a
    /// 32-bit number. The file outlives both processes.
    int begun;
    /// The descriptor of `cgroup.procs` of the process's cgroup, or -1.
    int cgroup;
    /// The umask, or -1 for that of the caller.
    int mask;
    /// The soft limit of open descriptors, or -1 for that of the caller. It never exceeds the hard limit.
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

/// Creates a process in its own session, with default signals, input from /dev/null, no other descriptor, and the nice
/// value of the main thread. Its program waits for `nightshift_launch_begin`. If `gate` is closed before that call, for
/// example because this process ends, the program never runs.
///
/// Returns when the program is ready to begin. The result is 0, or an error number together with the step that failed.
/// After a failure, the caller does not have to clean up.
int nightshift_launch(const struct nightshift_launch *launch, pid_t *child, int *gate, int *step);

/// Sends a launch to a process that calls `nightshift_launch_receive` on the other end of the socket, and waits until its
/// program is ready to begin. The socket stays open. The setting `cgroup` is not used. The program gets the nice value and
/// the limits of that process. Otherwise the same as `nightshift_launch`.
///
/// Waits at most 20 seconds.
int nightshift_launch_send(int socket, const struct nightshift_launch *launch, pid_t *child, int *gate, int *step);

/// Becomes the program of the launch that arrives on the socket. Returns an error number if no launch arrives. Later
/// errors are reported to the sender, and end this process with status 127.
int nightshift_launch_receive(int socket);

/// Lets the program run, and closes `gate`. Returns 0 when the program runs, or an error number. After an error, the
/// process ends with status 127.
///
/// Waits at most five seconds for a process that was stopped.
int nightshift_launch_begin(int gate);

/// Returns a descriptor that becomes readable when the process ends (pidfd_open(2)), or -1.
int nightshift_pidfd_open(pid_t process);

/// From now on, the given signal does not end the process, but is counted for ``nightshift_wait_for_signal()``. A program that
/// this process starts does not inherit this.
void nightshift_catch_signal(int number);

/// Blocks until a signal was caught. Each signal ends one wait.
void nightshift_wait_for_signal(void);

/// Sends a signal to a process (pidfd_send_signal(2)). Returns 0, or -1 and sets errno.
int nightshift_pidfd_signal(int pidfd, int signal);

/// Waits for a child by its pidfd, like waitpid(2) with `options`. Returns the child's id or -1. With WNOHANG, returns
/// 0 while the child runs.
pid_t nightshift_pidfd_wait(int pidfd, int *status, int options);

/// The maximum number of processes or cgroups in the table of the guardian.
#define NIGHTSHIFT_GUARDIAN_CAPACITY 1024
/// Forks the guardian, which has a table of frozen processes and cgroups. When the other end of `socket` is closed for
/// any reason, the guardian thaws all entries of the table and ends. It closes all other descriptors. Returns 0 or an
/// error number.
int nightshift_guardian_start(int socket, pid_t *guardian);

/// Creates a pair of connected sockets for the guardian, both closed on exec. Returns 0 or an error number.
int nightshift_guardian_sockets(int sockets[2]);

/// Reports to the guardian that a process group is about to be frozen, or runs again. Returns 0 or an error number.
///
/// `start_time` protects against a reused process id. `freeze` is the path of the cgroup's `cgroup.freeze`. It is null
/// for a process group, which gets SIGCONT. This function never raises SIGPIPE, and waits up to one second for a
/// guardian that does not read.
int nightshift_guardian_tell(int socket, int frozen, pid_t process, uint64_t start_time, const char *freeze);

#endif
