#define _GNU_SOURCE
#include "CNightshiftKeeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The keeper makes only async-signal-safe calls, because it is a fork of a program with threads and never calls exec.
// All state is static, so that no memory has to be allocated.

enum {
    input = 3,
    lock = 4,
    // A second pipe for a copy of the bytes in the FIFO. The bytes also stay in the FIFO.
    peek_out = 5,
    peek_in = 6,
    output = 7,
    // The capacity of a FIFO.
    chunk = 65536,
    // The number of bytes from the end of a flood that are kept until the next second.
    largest_tail = 65536,
    // The milliseconds between two reads in a flood. At most 64 MiB per second are read, to limit the CPU time.
    flood_pause = 1,
    second = 1000,
};

static char path[4096], older[4100];
static char buffer[chunk], tail[largest_tail];
static int64_t limit, size;
// The device and inode of the file that is open as `output`. Both are 0 only if no file is open.
static dev_t log_device;
static ino_t log_inode;
// The time in milliseconds at which the current second began, and the number of bytes written since.
static int64_t second_began, written;
// In a flood, `tail` is a ring of the last bytes. The counters below count the bytes and lines that were left out.
static int is_flood, tail_capacity, tail_length, tail_start;
static int64_t left_out, lines_left_out;

static int64_t milliseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void open_log(void) {
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    struct stat information;
    size = 0;
    log_device = 0;
    log_inode = 0;
    // If the log cannot be opened, the app's output is read and discarded, so that the app continues.
    if (file < 0 || fstat(file, &information) != 0 || !S_ISREG(information.st_mode)) {
        if (file >= 0) close(file);
        close(output);
        return;
    }
    size = information.st_size;
    log_device = information.st_dev;
    log_inode = information.st_ino;
    if (file != output) {
        dup3(file, output, O_CLOEXEC);
        close(file);
    }
}

// Continues in the file that has the log's name now. The old file may be deleted, moved, replaced or truncated.
static void follow_name(void) {
    struct stat information;
    if (lstat(path, &information) == 0 && information.st_dev == log_device && information.st_ino == log_inode) {
        size = information.st_size;
    } else {
        open_log();
    }
}

static void write_all(const char *bytes, int64_t count) {
    while (count > 0) {
        ssize_t result = write(output, bytes, (size_t)count);
        if (result < 0 && errno == EINTR) continue;
        // The disk is full. The bytes are dropped, because the app must not wait for free space.
        if (result <= 0) return;
        size += result;
        bytes += result;
        count -= result;
    }
}

// Restarts the log. If the log cannot be renamed, it stays unchanged. Returns whether the log became shorter.
static int rotate(void) {
    int64_t before = size;
    rename(path, older);
    open_log();
    return size < before;
}

// Appends bytes. Each half of the log begins at the beginning of a line, if lines are shorter than a half.
static void append(const char *bytes, int64_t count) {
    if (count > 0) follow_name();
    while (count > 0) {
        int64_t room = limit - size;
        if (room <= 0) {
            rotate();
            room = limit - size;
            // The log could not be restarted. The bytes are dropped so that it does not exceed its limit.
            if (room <= 0) return;
        }
        int64_t part = count;
        if (part > room) {
            const char *end = memrchr(bytes, '\n', (size_t)room);
            if (end != NULL) {
                part = end + 1 - bytes;
            } else if (size > 0 && count <= limit && rotate()) {
                // The whole line goes into the next half.
                continue;
            } else {
                part = room;
            }
        }
        write_all(bytes, part);
        bytes += part;
        count -= part;
        if (count > 0) rotate();
    }
}

static int64_t lines(const char *bytes, int64_t count) {
    int64_t number = 0;
    for (const char *end = bytes + count; (bytes = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL; bytes++) number++;
    return number;
}

// Removes bytes from the beginning of the ring.
static void leave_out(int count) {
    while (count > 0) {
        int part = tail_capacity - tail_start < count ? tail_capacity - tail_start : count;
        lines_left_out += lines(tail + tail_start, part);
        left_out += part;
        tail_start = (tail_start + part) % tail_capacity;
        tail_length -= part;
        count -= part;
    }
}

static void remember(const char *bytes, int64_t count) {
    if (count > tail_capacity) {
        leave_out(tail_length);
        left_out += count - tail_capacity;
        lines_left_out += lines(bytes, count - tail_capacity);
        bytes += count - tail_capacity;
        count = tail_capacity;
    }
    int excess = tail_length + (int)count - tail_capacity;
    if (excess > 0) leave_out(excess);
    while (count > 0) {
        int place = (tail_start + tail_length) % tail_capacity;
        int part = tail_capacity - place < count ? tail_capacity - place : (int)count;
        memcpy(tail + place, bytes, (size_t)part);
        tail_length += part;
        bytes += part;
        count -= part;
    }
}

static char *number(char *place, int64_t value) {
    char digits[20];
    int count = 0;
    do digits[count++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (count > 0) *place++ = digits[--count];
    return place;
}

static void end_flood(void) {
    if (left_out > 0) {
        // This is the rest of the truncated line, if the line has an end.
        int rest = 0;
        while (rest < tail_length && tail[(tail_start + rest) % tail_capacity] != '\n') rest++;
        if (rest < tail_length) leave_out(rest + 1);
        char note[160], *end = stpcpy(note, "\n[nightshift left out ");
        end = number(end, left_out);
        end = stpcpy(end, " bytes here, ");
        end = number(end, lines_left_out);
        end = stpcpy(end, " lines: the app wrote more than its log holds in one second]\n");
        append(note, end - note);
        left_out = lines_left_out = 0;
    }
    int first = tail_capacity - tail_start < tail_length ? tail_capacity - tail_start : tail_length;
    append(tail + tail_start, first);
    append(tail, tail_length - first);
    tail_start = tail_length = 0;
    is_flood = 0;
}

// Writes the bytes that were read. If the app has filled its log within one second, the bytes go into `tail` instead.
static void keep(const char *bytes, int64_t count) {
    int64_t now = milliseconds();
    if (now - second_began >= second) {
        second_began = now;
        written = 0;
        if (is_flood) {
            written = tail_length;
            end_flood();
        }
    }
    if (is_flood || written + count > limit) {
        is_flood = 1;
        return remember(bytes, count);
    }
    append(bytes, count);
    written += count;
}

// Copies the first bytes of the FIFO without removing them. Returns 0 if no process can write to it, -1 if it is empty.
//
// The bytes are removed after they are written to the log. An empty FIFO therefore means that the log is complete.
static ssize_t peek(void) {
    ssize_t count;
    do count = tee(input, peek_in, chunk, SPLICE_F_NONBLOCK);
    while (count < 0 && errno == EINTR);
    if (count <= 0) return count;
    ssize_t length = 0;
    while (length < count) {
        ssize_t part = read(peek_out, buffer + length, (size_t)(count - length));
        if (part <= 0) return -1;
        length += part;
    }
    return length;
}

static void take(ssize_t count) {
    char scrap[4096];
    while (count > 0) {
        ssize_t part = read(input, scrap, (size_t)count < sizeof scrap ? (size_t)count : sizeof scrap);
        if (part <= 0) return;
        count -= part;
    }
}

static int set_lock(short type) {
    struct flock range = {.l_type = type, .l_whence = SEEK_SET};
    int result;
    do result = fcntl(lock, F_SETLK, &range);
    while (result < 0 && errno == EINTR);
    return result;
}

static void wait_for_more(void) {
    if (!is_flood) {
        struct pollfd event = {.fd = input, .events = POLLIN};
        poll(&event, 1, -1);
        return;
    }
    poll(NULL, 0, flood_pause);
    if (milliseconds() - second_began < second) return;
    second_began = milliseconds();
    written = tail_length;
    end_flood();
}

static void keep_log(void) {
    for (;;) {
        ssize_t count = peek();
        if (count > 0) {
            keep(buffer, count);
            take(count);
            if (is_flood) wait_for_more();
        } else if (count < 0) {
            if (errno != EAGAIN) return;
            wait_for_more();
        } else {
            end_flood();
            // A process that begins to write now looks for a keeper after it has opened the FIFO. Either it finds this
            // keeper, which then finds the writer, or it finds no keeper.
            set_lock(F_UNLCK);
            if (peek() == 0 || set_lock(F_WRLCK) != 0) return;
        }
    }
}

static void begin(const struct nightshift_keeper *keeper) {
    prctl(PR_SET_NAME, "nightshift-log");
    setsid();
    // The copies get higher numbers than the keeper uses, so that no descriptor is overwritten before it is copied.
    int high_input = fcntl(keeper->input, F_DUPFD, 16), high_lock = fcntl(keeper->lock, F_DUPFD, 16);
    if (high_input < 0 || high_lock < 0) _exit(1);
    if (dup2(high_input, input) < 0 || dup2(high_lock, lock) < 0) _exit(1);
    int nowhere = open("/dev/null", O_RDWR);
    for (int descriptor = 0; descriptor < 3; descriptor++) dup2(nowhere, descriptor);
    // This closes the program's open files: the instance lock, the database and all client connections, among others.
    closefrom(peek_out);
    if (set_lock(F_WRLCK) != 0) _exit(0);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || ends[0] != peek_out || ends[1] != peek_in) _exit(1);
    if (chdir("/") != 0) _exit(1);
    nightshift_drop_memory();
    open_log();
    second_began = milliseconds();
    keep_log();
    _exit(0);
}

int nightshift_keeper_start(const struct nightshift_keeper *keeper, pid_t *process) {
    size_t length = strlen(keeper->log);
    if (length >= sizeof path) return ENAMETOOLONG;
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return errno;
    // All signals stay blocked in the keeper, which ends when its app has ended and not because of a signal.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    // The keeper is detached from this program and outlives it. No process has to wait for the keeper.
    pid_t child = _Fork();
    int reason = errno;
    if (child == 0) {
        memcpy(path, keeper->log, length + 1);
        memcpy(older, keeper->log, length);
        memcpy(older + length, ".1", 3);
        limit = keeper->limit;
        tail_capacity = limit < largest_tail ? (int)limit : largest_tail;
        pid_t grandchild = _Fork();
        if (grandchild == 0) begin(keeper);
        if (grandchild < 0) grandchild = -errno;
        _exit(write(report[1], &grandchild, sizeof grandchild) == sizeof grandchild ? 0 : 1);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    pid_t result = -reason;
    if (child > 0) {
        ssize_t count;
        do count = read(report[0], &result, sizeof result);
        while (count < 0 && errno == EINTR);
        if (count != sizeof result) result = -EAGAIN;
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    close(report[0]);
    if (result < 0) return -result;
    *process = result;
    return 0;
}

pid_t nightshift_keeper_of(int descriptor) {
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int result;
    do result = fcntl(descriptor, F_GETLK, &range);
    while (result < 0 && errno == EINTR);
    if (result < 0) return -1;
    return range.l_type == F_UNLCK ? 0 : range.l_pid;
}
