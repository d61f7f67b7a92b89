#define _GNU_SOURCE
#include "CNightshiftKeeper.h"
#include "CNightshiftProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

// A message to the guardian, sent on the socket.
struct guarded {
    int32_t frozen;
    // The id of the leader of the process group. The id is the key of the table.
    int32_t process;
    uint64_t start_time;
    // The path of the file to which the guardian writes `0`. It is empty for a process group.
    char freeze[1024];
};

// The guardian makes only async-signal-safe calls, because it is a fork of a program with threads and never calls exec.
// The table is static, so that no memory has to be allocated.
static struct guarded table[NIGHTSHIFT_GUARDIAN_CAPACITY];
static int count;

static void note(const struct guarded *message) {
    int place = 0;
    while (place < count && table[place].process != message->process) place++;
    if (message->frozen) {
        if (place == NIGHTSHIFT_GUARDIAN_CAPACITY) return;
        if (place == count) count++;
        table[place] = *message;
    } else if (place < count) {
        table[place] = table[--count];
    }
}

// Returns the start time of a process, or 0 if the process does not exist.
static uint64_t start_time(pid_t process) {
    char path[32] = "/proc/", digits[12];
    int length = 6, digit = 0;
    for (pid_t rest = process; rest > 0; rest /= 10) digits[digit++] = (char)('0' + rest % 10);
    while (digit > 0) path[length++] = digits[--digit];
    memcpy(path + length, "/stat", 6);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    char text[1024];
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) return 0;
    text[size] = 0;
    // The name, in parentheses, may contain any character. The start time is the 20th field after the name.
    char *rest = strrchr(text, ')');
    if (rest == NULL) return 0;
    for (int field = 0; field < 20; field++) {
        rest = strchr(rest + 1, ' ');
        if (rest == NULL) return 0;
    }
    uint64_t time = 0;
    for (rest++; *rest >= '0' && *rest <= '9'; rest++) time = time * 10 + (uint64_t)(*rest - '0');
    return time;
}

static void thaw(const struct guarded *guarded) {
    if (guarded->freeze[0] != 0) {
        int file = open(guarded->freeze, O_WRONLY | O_CLOEXEC);
        if (file < 0) return;
        while (write(file, "0", 1) < 0 && errno == EINTR) {
        }
        close(file);
        return;
    }
    // While a group has members, the kernel does not give the group's number to a new process. If another process has
    // the number, the group is gone. If no process has the number, only the leader is gone, and members may remain.
    uint64_t time = start_time(guarded->process);
    if (time == 0 || time == guarded->start_time) kill(-guarded->process, SIGCONT);
}

static void guard(int socket) {
    prctl(PR_SET_NAME, "nightshift-grd");
    setsid();
    if (dup3(socket, 3, O_CLOEXEC) < 0 && socket != 3) _exit(1);
    // This closes the program's open files: the instance lock, the database and all client connections, among others.
    int nowhere = open("/dev/null", O_RDWR);
    for (int descriptor = 0; descriptor < 3; descriptor++) dup2(nowhere, descriptor);
    closefrom(4);
    if (chdir("/") != 0) _exit(1);
    nightshift_drop_memory();
    struct guarded message;
    for (;;) {
        ssize_t length = recv(3, &message, sizeof message, 0);
        if (length == (ssize_t)sizeof message) {
            note(&message);
        } else if (length == 0 || (length < 0 && errno != EINTR)) {
            break;
        }
    }
    for (int place = 0; place < count; place++) thaw(&table[place]);
    _exit(0);
}

int nightshift_guardian_start(int socket, pid_t *guardian) {
    // All signals stay blocked in the guardian, which ends when the program ends and not because of a signal.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t process = _Fork();
    int reason = errno;
    if (process == 0) guard(socket);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (process < 0) return reason;
    *guardian = process;
    return 0;
}

int nightshift_guardian_sockets(int sockets[2]) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return errno;
    struct timeval limit = {.tv_sec = 1};
    setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return 0;
}

int nightshift_guardian_tell(int socket, int frozen, pid_t process, uint64_t start_time, const char *freeze) {
    struct guarded message = {.frozen = frozen, .process = process, .start_time = start_time};
    if (freeze != NULL) {
        if (strlen(freeze) >= sizeof message.freeze) return ENAMETOOLONG;
        strcpy(message.freeze, freeze);
    }
    ssize_t sent;
    do sent = send(socket, &message, sizeof message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}
