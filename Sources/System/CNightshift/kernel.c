#define _GNU_SOURCE
#include "CNightshiftKernel.h"

#include <pthread.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

int nightshift_start_writeback(int descriptor, int64_t offset, int64_t length) {
    return sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE);
}

int64_t nightshift_splice(int from, int to, const int64_t *offset, int64_t count) {
    if (offset == NULL) return splice(from, NULL, to, NULL, (size_t)count, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    loff_t place = *offset;
    return splice(from, NULL, to, &place, (size_t)count, SPLICE_F_MOVE);
}

int nightshift_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

int nightshift_duplicate(int descriptor) {
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

int nightshift_set_pipe_capacity(int pipe, int bytes) {
    return fcntl(pipe, F_SETPIPE_SZ, bytes);
}

int64_t nightshift_tcp_received(int socket) {
    struct tcp_info information;
    socklen_t length = sizeof information;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &information, &length) != 0) return -1;
    // An older kernel without this count fills in fewer bytes.
    if (length < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof information.tcpi_bytes_received) return -1;
    return (int64_t)information.tcpi_bytes_received;
}

bool nightshift_tcp_read(int socket, nightshift_tcp_reading *reading) {
    struct tcp_info information;
    socklen_t length = sizeof information;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &information, &length) != 0) return false;
    if (length < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof information.tcpi_bytes_received) return false;
    *reading = (nightshift_tcp_reading){
        .received = (int64_t)information.tcpi_bytes_received,
        .acknowledged = (int64_t)information.tcpi_bytes_acked,
        .receive_round_trip = information.tcpi_rcv_rtt,
        .send_round_trip = information.tcpi_rtt,
        .receive_segment = information.tcpi_rcv_mss,
        .send_segment = information.tcpi_snd_mss,
        .has_timestamps = (information.tcpi_options & TCPI_OPT_TIMESTAMPS) != 0,
    };
    return true;
}

bool nightshift_tcp_limit_window(int socket, int bytes) {
    return setsockopt(socket, IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof bytes) == 0;
}

bool nightshift_tcp_limit_pace(int socket, uint64_t bytes_per_second) {
    return setsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_second, sizeof bytes_per_second) == 0;
}

void nightshift_open_standard_descriptors(void) {
    // The kernel assigns the lowest free number.
    int descriptor;
    do descriptor = open("/dev/null", O_RDWR);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0) close(descriptor);
}

static int first_kept = INT_MAX;

void nightshift_keep_descriptors(int first) {
    __atomic_store_n(&first_kept, first, __ATOMIC_RELAXED);
}

bool nightshift_lacks_descriptors(void) {
    // The kernel assigns the lowest free number.
    int next = eventfd(0, EFD_CLOEXEC);
    if (next < 0) return true;
    close(next);
    if (next < __atomic_load_n(&first_kept, __ATOMIC_RELAXED)) return false;
    errno = EMFILE;
    return true;
}

int nightshift_reserve(int descriptor, int64_t offset, int64_t length) {
    return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, length);
}

int64_t nightshift_filesystem_type(int descriptor) {
    struct statfs information;
    return fstatfs(descriptor, &information) == 0 ? (int64_t)information.f_type : -1;
}

int64_t nightshift_filesystem_identity(int descriptor, int64_t *id) {
    struct statfs information;
    *id = 0;
    if (fstatfs(descriptor, &information) != 0) return -1;
    memcpy(id, &information.f_fsid, sizeof *id);
    return (int64_t)information.f_type;
}

bool nightshift_has_access_list(const char *path) {
    if (getxattr(path, "system.posix_acl_access", NULL, 0) >= 0) return true;
    return errno != ENODATA && errno != EOPNOTSUPP;
}

int nightshift_name_exclusive(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    // NFS, FUSE, 9p and other file systems do not support the flag (rename(2)).
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return -1;
    if (link(from, to) == 0) return 1;
    if (errno != EPERM && errno != ENOSYS && errno != EOPNOTSUPP && errno != EMLINK) return -1;
    // The file system does not support hard links either. An empty file reserves the name and is then replaced.
    int place = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (place < 0) return -1;
    close(place);
    if (rename(from, to) == 0) return 0;
    int reason = errno;
    unlink(to);
    errno = reason;
    return -1;
}

int nightshift_rename_exclusive(const char *from, const char *to) {
    int result = nightshift_name_exclusive(from, to);
    if (result != 1 || unlink(from) == 0) return result < 0 ? -1 : 0;
    int reason = errno;
    unlink(to);
    errno = reason;
    return -1;
}

int nightshift_open_unnamed(const char *directory) {
    return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
}

bool nightshift_has_default_access_list(const char *directory) {
    return getxattr(directory, "system.posix_acl_default", NULL, 0) >= 0;
}

int nightshift_copy_attribute(int from, int to, const char *name) {
    // On ext4, an access control list of ACL_MAX_ENTRIES is smaller than this buffer. Every label is smaller too.
    char value[4096];
    ssize_t size = fgetxattr(from, name, value, sizeof value);
    if (size >= 0) return fsetxattr(to, name, value, (size_t)size, 0);
    if (errno != ENODATA) return -1;
    return fremovexattr(to, name) == 0 || errno == ENODATA ? 0 : -1;
}

int nightshift_sync_directory(const char *path) {
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    int result = fsync(descriptor);
    int reason = errno;
    close(descriptor);
    errno = reason;
    // These are the errors of file systems that cannot and need not sync a directory (vboxsf, 9p).
    return result == 0 || reason == EINVAL || reason == EBADF ? 0 : -1;
}

int nightshift_bound_free_memory(int bytes) {
    // If only one threshold is set, the other stays at 128 KiB, and buffers of transfers are mapped and cleared again.
    return mallopt(M_MMAP_THRESHOLD, bytes) && mallopt(M_TRIM_THRESHOLD, bytes);
}

void nightshift_return_free_memory(void) {
    malloc_trim(0);
}

int64_t nightshift_boot_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t nightshift_awake_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t nightshift_load_word(const void *word) {
    return __atomic_load_n((const int64_t *)word, __ATOMIC_SEQ_CST);
}

void nightshift_store_word(void *word, int64_t value) {
    __atomic_store_n((int64_t *)word, value, __ATOMIC_SEQ_CST);
}

// The timer is armed for a time that is never reached, because only its cancellation matters.
static int arm_for_clock_change(int descriptor) {
    struct itimerspec never = {.it_value = {.tv_sec = INT64_C(1) << 40}};
    if (timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0) return 0;
    // The clock was set since the last read (timerfd_create(2)). The timer is armed nevertheless.
    return errno == ECANCELED ? 0 : -1;
}

int nightshift_clock_change_descriptor(void) {
    int descriptor = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (descriptor < 0 || arm_for_clock_change(descriptor) == 0) return descriptor;
    close(descriptor);
    return -1;
}

int nightshift_take_clock_change(int descriptor) {
    uint64_t expirations;
    if (read(descriptor, &expirations, sizeof expirations) < 0 && errno != ECANCELED && errno != EAGAIN && errno != EINTR)
        return -1;
    return arm_for_clock_change(descriptor);
}

int nightshift_timer_descriptor(void) {
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

int nightshift_set_timer(int descriptor, int64_t nanoseconds) {
    struct itimerspec timer = {.it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &timer, NULL);
}

static int netlink_descriptor(int protocol, unsigned groups) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    if (descriptor < 0) return -1;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        int reason = errno;
        close(descriptor);
        errno = reason;
        return -1;
    }
    return descriptor;
}

int nightshift_network_change_descriptor(void) {
    return netlink_descriptor(
        NETLINK_ROUTE,
        RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE);
}

int nightshift_device_event_descriptor(void) {
    // Group 1 belongs to the kernel, group 2 to udev.
    return netlink_descriptor(NETLINK_KOBJECT_UEVENT, 1);
}

int nightshift_name_thread(const char *name) { return pthread_setname_np(pthread_self(), name); }
