#define _GNU_SOURCE
#include "CNightshiftProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// A report of a child: a step that failed, with errno, or `waits_for_gate` with the id of the process.
struct failure {
    int step;
    int reason;
};

// The lowest number of the descriptors that the launch itself uses. They are above those that the program gets.
enum { first_own_descriptor = 10 };
// The value that a child reports instead of a step while it waits for its gate.
enum { waits_for_gate = -1 };

static void default_signals(void) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) sigaction(number, &action, NULL);
}

// Runs in the child. From here on, only async-signal-safe calls are allowed.
static void fail(int report, int step) {
    struct failure failure = {step, errno};
    while (write(report, &failure, sizeof failure) < 0 && errno == EINTR) {
    }
    _exit(127);
}

// Waits until the program may run. If the launch is abandoned, the other end of the gate is closed.
static void wait_for_gate(int report, int begun) {
    struct failure held = {waits_for_gate, getpid()};
    while (write(report, &held, sizeof held) < 0 && errno == EINTR) {
    }
    char word;
    ssize_t length;
    do length = read(report, &word, 1);
    while (length < 0 && errno == EINTR);
    if (length != 1) _exit(127);
    int32_t process = getpid();
    // If this write fails and the service ends before the process does, the next service assumes that the program has
    // not begun.
    if (begun >= 0) (void)!pwrite(begun, &process, sizeof process, 0);
}

// Executes the program, or fails with errno. If the program's file is open for writing (by its installer, or by a
// process that has just forked and not called exec yet), retries for half a second. This is shorter than the timeout of
// `nightshift_launch_begin`.
static void execute(const struct nightshift_launch *launch) {
    for (int attempt = 0; attempt < 50; attempt++) {
        execve(launch->program, launch->arguments, launch->environment);
        if (errno != ETXTBSY) return;
        poll(NULL, 0, 10);
        errno = ETXTBSY;
    }
}

static void become(const struct nightshift_launch *launch, int report, int nice) {
    // These descriptors are moved, so that the program's own descriptors do not overwrite them.
    report = fcntl(report, F_DUPFD_CLOEXEC, first_own_descriptor);
    if (report < 0) _exit(127);
    int output = fcntl(launch->output, F_DUPFD_CLOEXEC, first_own_descriptor);
    if (output < 0) fail(report, nightshift_launch_output);
    int begun = launch->begun >= 0 ? fcntl(launch->begun, F_DUPFD_CLOEXEC, first_own_descriptor) : -1;
    if (launch->begun >= 0 && begun < 0) fail(report, nightshift_launch_output);
    if (launch->cgroup >= 0) {
        ssize_t written = write(launch->cgroup, "0", 1);
        if (written != 1) fail(report, nightshift_launch_cgroup);
    }
    setsid();
    default_signals();
    if (launch->mask >= 0) umask((mode_t)launch->mask);
    // On Linux each thread has its own nice value, and libdispatch sets other values for its threads.
    setpriority(PRIO_PROCESS, 0, nice);
    int input = open("/dev/null", O_RDONLY);
    if (input < 0) fail(report, nightshift_launch_input);
    if (dup2(input, 0) < 0) fail(report, nightshift_launch_input);
    if (dup2(output, 1) < 0 || dup2(output, 2) < 0) fail(report, nightshift_launch_output);
    if (dup3(report, 3, O_CLOEXEC) < 0) fail(report, nightshift_launch_output);
    if (begun >= 0 && dup3(begun, 4, O_CLOEXEC) < 0) fail(3, nightshift_launch_output);
    closefrom(begun >= 0 ? 5 : 4);
    // The limit is set after the service's own descriptors are closed. Otherwise no number below it might be free.
    struct rlimit limit;
    if (launch->open_files >= 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = (rlim_t)launch->open_files < limit.rlim_max ? (rlim_t)launch->open_files : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (chdir(launch->directory) != 0) fail(3, nightshift_launch_directory);
    wait_for_gate(3, begun >= 0 ? 4 : -1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execute(launch);
    fail(3, nightshift_launch_exec);
}

static pid_t wait_for(pid_t child) {
    pid_t result;
    do result = waitpid(child, NULL, 0);
    while (result < 0 && errno == EINTR);
    return result;
}

// Reads a report from the pipe. Returns 1, or 0 at the end of the pipe.
static int hear(int report, struct failure *failure) {
    ssize_t length;
    do length = read(report, failure, sizeof *failure);
    while (length < 0 && errno == EINTR);
    return length == sizeof *failure;
}

// Waits until a child waits for its gate. Otherwise closes the gate, and returns the reason.
static int await_launch(int gate, pid_t *child, int *step) {
    struct failure failure;
    int is_heard = hear(gate, &failure);
    if (is_heard && failure.step == waits_for_gate) {
        *child = failure.reason;
        return 0;
    }
    close(gate);
    // A child that ends without a report was killed.
    if (is_heard) *step = failure.step;
    return is_heard ? failure.reason : EINTR;
}

int nightshift_launch(const struct nightshift_launch *launch, pid_t *child, int *gate, int *step) {
    int report[2];
    *step = nightshift_launch_fork;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, report) != 0) return errno;
    // This is the nice value of the main thread.
    int nice = getpriority(PRIO_PROCESS, (id_t)getpid());
    // This program's signal handlers must not run in the child, which has only one of this program's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    // This call skips the fork handlers of libraries, because the child does not use the libraries.
    pid_t process = _Fork();
    int reason = errno;
    if (process == 0) become(launch, report[1], nice);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    if (process < 0) {
        close(report[0]);
        return reason;
    }
    *gate = report[0];
    int result = await_launch(report[0], child, step);
    if (result != 0) wait_for(process);
    return result;
}

// The beginning of a message with a launch. The strings follow, each with its NUL: program, directory, arguments,
// environment.
struct message {
    // A service may start a program of another version while it is upgraded.
    uint32_t version;
    uint32_t length;
    uint32_t arguments;
    uint32_t variables;
    int32_t mask;
    int64_t open_files;
};

enum { message_version = 1, longest_message = 8 << 20 };
// The seconds after which a process that systemd was asked to start has failed to start.
enum { start_timeout = 20 };

static char *append(char *end, const char *text) {
    size_t length = strlen(text) + 1;
    memcpy(end, text, length);
    return end + length;
}

static size_t count(char *const *texts, size_t *length) {
    size_t number = 0;
    for (; texts[number]; number++) *length += strlen(texts[number]) + 1;
    return number;
}

// Sends bytes, the first with descriptors. Returns 0 or errno.
static int send_all(int socket, const void *bytes, size_t length, const int *descriptors, int number) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    while (length > 0) {
        struct iovec part = {(void *)bytes, length};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (number > 0) {
            message.msg_control = &control;
            message.msg_controllen = CMSG_SPACE(number * sizeof(int));
            struct cmsghdr *header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(number * sizeof(int));
            memcpy(CMSG_DATA(header), descriptors, number * sizeof(int));
        }
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno;
        bytes = (const char *)bytes + sent;
        length -= (size_t)sent;
        number = 0;
    }
    return 0;
}

int nightshift_launch_send(int socket, const struct nightshift_launch *launch, pid_t *child, int *gate, int *step) {
    *step = nightshift_launch_fork;
    int report[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, report) != 0) return errno;
    struct message head = {message_version, 0, 0, 0, launch->mask, launch->open_files};
    size_t length = strlen(launch->program) + 1 + strlen(launch->directory) + 1;
    head.arguments = (uint32_t)count(launch->arguments, &length);
    head.variables = (uint32_t)count(launch->environment, &length);
    head.length = (uint32_t)length;
    int reason = length <= longest_message ? 0 : E2BIG;
    char *texts = reason ? NULL : malloc(length);
    if (!texts && !reason) reason = ENOMEM;
    if (!reason) {
        char *end = append(append(texts, launch->program), launch->directory);
        for (char *const *text = launch->arguments; *text; text++) end = append(end, *text);
        for (char *const *text = launch->environment; *text; text++) end = append(end, *text);
        int descriptors[3] = {report[1], launch->output, launch->begun};
        struct timeval timeout = {.tv_sec = start_timeout};
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
        setsockopt(report[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        reason = send_all(socket, &head, sizeof head, descriptors, launch->begun >= 0 ? 3 : 2);
        if (!reason) reason = send_all(socket, texts, length, NULL, 0);
        free(texts);
    }
    close(report[1]);
    if (reason) {
        close(report[0]);
        return reason;
    }
    *gate = report[0];
    return await_launch(report[0], child, step);
}

// Receives exactly `length` bytes, the first with descriptors. Returns 1, or 0 at the end or after an error.
static int receive_all(int socket, void *bytes, size_t length, int *descriptors, int *number) {
    while (length > 0) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(3 * sizeof(int))];
        } control;
        struct iovec part = {bytes, length};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
        if (received < 0 && errno == EINTR) continue;
        if (received <= 0) return 0;
        for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
            if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS || !descriptors) continue;
            *number = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(descriptors, CMSG_DATA(header), *number * sizeof(int));
        }
        bytes = (char *)bytes + received;
        length -= (size_t)received;
    }
    return 1;
}

// Returns the next of the strings in a message, or NULL if the message is damaged.
static char *next(char **position, char *end) {
    char *text = *position;
    char *terminator = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    if (!terminator) return NULL;
    *position = terminator + 1;
    return text;
}

static char **next_list(char **position, char *end, uint32_t number) {
    if (number > longest_message) return NULL;
    char **texts = calloc((size_t)number + 1, sizeof *texts);
    for (uint32_t index = 0; texts && index < number; index++) {
        texts[index] = next(position, end);
        if (!texts[index]) return NULL;
    }
    return texts;
}

int nightshift_launch_receive(int socket) {
    struct message head;
    int descriptors[3] = {-1, -1, -1}, number = 0;
    if (!receive_all(socket, &head, sizeof head, descriptors, &number) || number < 2) return EBADMSG;
    struct nightshift_launch launch = {
        .output = descriptors[1], .begun = descriptors[2], .cgroup = -1, .mask = head.mask,
        .open_files = head.open_files};
    // Errors are reported to the service, which is the only one who can tell anybody.
    errno = EPROTONOSUPPORT;
    if (head.version != message_version || head.length > longest_message) fail(descriptors[0], nightshift_launch_fork);
    char *texts = malloc(head.length);
    if (!texts || !receive_all(socket, texts, head.length, NULL, NULL)) fail(descriptors[0], nightshift_launch_fork);
    char *position = texts, *end = texts + head.length;
    launch.program = next(&position, end);
    launch.directory = next(&position, end);
    launch.arguments = next_list(&position, end, head.arguments);
    launch.environment = next_list(&position, end, head.variables);
    errno = EBADMSG;
    if (!launch.program || !launch.directory || !launch.arguments || !launch.environment)
        fail(descriptors[0], nightshift_launch_fork);
    become(&launch, descriptors[0], getpriority(PRIO_PROCESS, 0));
    return EINVAL;
}

int nightshift_launch_begin(int gate) {
    struct failure failure;
    int reason = 0;
    // If the process has ended meanwhile, its exit status is reported.
    if (send(gate, "", 1, MSG_NOSIGNAL) == 1) {
        struct pollfd ready = {.fd = gate, .events = POLLIN};
        int count;
        do count = poll(&ready, 1, 5000);
        while (count < 0 && errno == EINTR);
        if (count == 1 && hear(gate, &failure)) reason = failure.reason;
    }
    close(gate);
    return reason;
}

int nightshift_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

int nightshift_pidfd_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

pid_t nightshift_pidfd_wait(int pidfd, int *status, int options) {
    siginfo_t information = {.si_pid = 0};
    int result;
    do result = waitid(P_PIDFD, (id_t)pidfd, &information, WEXITED | options);
    while (result < 0 && errno == EINTR);
    if (result < 0) return -1;
    if (information.si_pid == 0) return 0;
    // The status is encoded in the format of waitpid(2).
    *status = information.si_code == CLD_EXITED ? (information.si_status & 0xff) << 8 : information.si_status & 0x7f;
    return information.si_pid;
}
