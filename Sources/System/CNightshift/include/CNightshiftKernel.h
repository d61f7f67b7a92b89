// Kernel calls that Swift cannot make itself, because they are variadic or glibc hides them with feature macros.
#ifndef CNIGHTSHIFT_KERNEL_H
#define CNIGHTSHIFT_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

// If not stated otherwise, each function returns the result of its call: 0 or a value, or -1 with errno set.

/// Starts writing dirty pages of a range to disk, without waiting (sync_file_range(2)).
int nightshift_start_writeback(int descriptor, int64_t offset, int64_t length);

/// Moves bytes from a socket into a pipe without waiting, or from a pipe to `offset` of a file, without a copy
/// (splice(2)). `offset` is NULL for a pipe. Returns the number of bytes, or 0 if the sender has ended.
int64_t nightshift_splice(int from, int to, const int64_t *offset, int64_t count);

/// Creates a pipe that is closed on exec (pipe2(2)). `ends[0]` is for reading, `ends[1]` for writing.
int nightshift_pipe(int ends[2]);

/// Duplicates a descriptor. The new descriptor is closed on exec (fcntl(2) with F_DUPFD_CLOEXEC).
int nightshift_duplicate(int descriptor);

/// Sets the capacity of a pipe in bytes (F_SETPIPE_SZ). Returns the new capacity.
int nightshift_set_pipe_capacity(int pipe, int bytes);

/// Returns the number of bytes that a TCP connection has received in order, whether or not they were read (TCP_INFO).
int64_t nightshift_tcp_received(int socket);

/// The kernel's measurements of a TCP connection (TCP_INFO, tcp(7)).
typedef struct {
    /// The bytes that have arrived in order, and the bytes that the peer has acknowledged.
    int64_t received, acknowledged;
    /// Mean round-trip times in microseconds, measured by what arrives and by what is sent; 0 if unknown.
    uint32_t receive_round_trip, send_round_trip;
    /// The sizes of segments in bytes.
    uint32_t receive_segment, send_segment;
    /// Whether segments carry timestamps (RFC 7323). Without them, the kernel only estimates the first round trip.
    bool has_timestamps;
} nightshift_tcp_reading;

/// Reads the measurements of a connection. Returns false if the kernel does not report them.
bool nightshift_tcp_read(int socket, nightshift_tcp_reading *reading);

/// Limits the window that the kernel announces to the peer (TCP_WINDOW_CLAMP, tcp(7)). The kernel may raise the limit later.
bool nightshift_tcp_limit_window(int socket, int bytes);

/// Limits the rate at which the kernel sends (SO_MAX_PACING_RATE, socket(7)); UINT64_MAX for no limit.
bool nightshift_tcp_limit_pace(int socket, uint64_t bytes_per_second);

/// Opens /dev/null as each of the descriptors 0, 1 and 2 that is closed. Must be called first in the program. Otherwise
/// a file or a socket could get one of these numbers and be used as standard input, output or error.
void nightshift_open_standard_descriptors(void);

/// Reserves the descriptors from the number `first` on for uses that cannot wait until other descriptors are closed. By
/// default no descriptor is reserved.
void nightshift_keep_descriptors(int first);

/// Returns whether the next descriptor would be a reserved one. In this case, and if no descriptor is left, errno has
/// the reason.
bool nightshift_lacks_descriptors(void);

/// Reserves blocks without changing the file's size (fallocate(2) with KEEP_SIZE).
int nightshift_reserve(int descriptor, int64_t offset, int64_t length);

/// Returns the magic number of the file system of the file (statfs(2)).
int64_t nightshift_filesystem_type(int descriptor);

/// Returns the magic number of the file's file system, and stores the id of the file system (f_fsid of statfs(2)) in
/// `id`. The id is 0 if the file system has none.
int64_t nightshift_filesystem_identity(int descriptor, int64_t *id);

/// Returns whether a file has an access control list (acl(5)). Also returns true if the kernel does not report this.
bool nightshift_has_access_list(const char *path);

/// Renames a file to `to`, and fails with EEXIST if `to` exists. Returns 0 if it was renamed. Returns 1 if the file has
/// both names, because its file system cannot rename without replacing. The caller then removes `from` after it has
/// closed the file, because FUSE and NFS hide an open file instead of removing it.
int nightshift_name_exclusive(const char *from, const char *to);

/// Creates a file without a name in a directory, with the mode rw-rw-rw- (O_TMPFILE of open(2)).
int nightshift_open_unnamed(const char *directory);

/// Returns whether a directory has an access control list for files that are created in it (acl(5)).
bool nightshift_has_default_access_list(const char *directory);

/// Copies an extended attribute from `from` to `to`, or removes it if `from` does not have it.
int nightshift_copy_attribute(int from, int to, const char *name);

/// Renames a file, and fails with EEXIST if `to` exists. Calls renameat2(2) with NOREPLACE, or an equivalent if the
/// file system does not support that flag.
int nightshift_rename_exclusive(const char *from, const char *to);

/// Syncs a directory so that its entries survive a power failure, if its file system supports that.
int nightshift_sync_directory(const char *path);

/// Sets the amount of free memory that stays at the end of each heap. Free memory beyond this amount is returned to the
/// system, and so is each larger piece when it is freed (M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of mallopt(3)).
int nightshift_bound_free_memory(int bytes);

/// Returns the free pages of all heaps to the system (malloc_trim(3)). This takes milliseconds.
void nightshift_return_free_memory(void);

/// Returns the nanoseconds since boot, including the time that the machine was asleep (CLOCK_BOOTTIME).
int64_t nightshift_boot_nanoseconds(void);

/// Returns the nanoseconds since boot without the time that the machine was asleep (CLOCK_MONOTONIC).
int64_t nightshift_awake_nanoseconds(void);

/// Reads one word of memory that processes share, or writes it. Each function accesses the memory exactly once.
int64_t nightshift_load_word(const void *word);
void nightshift_store_word(void *word, int64_t value);

/// Returns a descriptor that becomes readable, with ECANCELED, when the wall clock is set (timerfd_create(2)).
int nightshift_clock_change_descriptor(void);

/// Takes a change of the wall clock from the descriptor, without blocking. Returns 0, or -1 if the descriptor fails.
int nightshift_take_clock_change(int descriptor);

/// Returns a descriptor that becomes readable when the time that was set has passed (timerfd_create(2)).
int nightshift_timer_descriptor(void);

/// Sets the time of a timer, in nanoseconds of CLOCK_BOOTTIME. 0 clears the timer. Returns 0, or -1 and errno.
int nightshift_set_timer(int descriptor, int64_t nanoseconds);

/// Opens a netlink socket for changes of links, addresses and routes.
int nightshift_network_change_descriptor(void);

/// Opens a netlink socket for the kernel's device events (uevents).
int nightshift_device_event_descriptor(void);

/// Sets the name of the calling thread, of at most 15 bytes (pthread_setname_np(3)). Returns 0 or an error number.
int nightshift_name_thread(const char *name);

/// Installs handlers that record a crash before it ends this process. They write the signal's number and the time in
/// nanoseconds since boot (two int64_t) at offset `place` of `descriptor`. The signals are SIGILL, SIGTRAP, SIGABRT,
/// SIGBUS, SIGFPE and SIGSEGV, unless another process sent them. The process then ends as without the handlers.
void nightshift_note_faults(int descriptor, int64_t place);

/// Returns whether a crash was recorded. This process then ends, but other threads may run until it has ended.
int nightshift_fault_is_noted(void);

#endif
