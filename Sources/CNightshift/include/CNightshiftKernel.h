// Kernel calls that Swift cannot make itself: variadic ones, and ones that glibc keeps behind feature macros.
#ifndef CNIGHTSHIFT_KERNEL_H
#define CNIGHTSHIFT_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

// Each returns what the call does: 0 or a value, or -1 with errno set.

/// Starts writing out dirty pages of a range, and waits for nothing (sync_file_range(2)).
int nightshift_start_writeback(int descriptor, int64_t offset, int64_t length);

/// Moves bytes from a socket into a pipe and never waits for them, or from a pipe to `offset` of a file, without a copy
/// (splice(2)); `offset` is NULL for a pipe. The number of bytes, 0 where the sender has ended.
int64_t nightshift_splice(int from, int to, const int64_t *offset, int64_t count);

/// A pipe that is closed on exec: `ends[0]` is read, `ends[1]` written (pipe2(2)).
int nightshift_pipe(int ends[2]);

/// A second descriptor, closed on exec (fcntl(2) with F_DUPFD_CLOEXEC).
int nightshift_duplicate(int descriptor);

/// Asks for a pipe of so many bytes (F_SETPIPE_SZ); the number that it has.
int nightshift_set_pipe_capacity(int pipe, int bytes);

/// Bytes that a TCP connection has received in order, read or not (TCP_INFO).
int64_t nightshift_tcp_received(int socket);

/// Opens /dev/null as each of the descriptors 0, 1 and 2 that is closed. To be called first of all: a file or a socket that came to
/// stand there would be read and written as standard input, output or errors.
void nightshift_open_standard_descriptors(void);

/// Keeps the descriptors from the number `first` on for what cannot wait for others to be closed; without this call none is kept.
void nightshift_keep_descriptors(int first);

/// Whether the next descriptor would be one of those that are kept. Then, and where there is none at all, errno says why not.
bool nightshift_lacks_descriptors(void);

/// Reserves blocks without changing the file's size (fallocate(2) with KEEP_SIZE).
int nightshift_reserve(int descriptor, int64_t offset, int64_t length);

/// The magic number of the file system that the file is on (statfs(2)).
int64_t nightshift_filesystem_type(int descriptor);

/// Returns the magic number of the file system that the file is on, and stores its number (f_fsid of statfs(2)) in `id`: 0 without one.
int64_t nightshift_filesystem_identity(int descriptor, int64_t *id);

/// Whether a file has an access control list (acl(5)); true, too, where the kernel does not tell.
bool nightshift_has_access_list(const char *path);

/// Gives a file the name `to`, and fails with EEXIST where that exists. 0: renamed. 1: the file has both names, since its file system cannot
/// rename without replacing; the caller removes `from` when it has closed the file: FUSE and NFS hide a file that is open instead of removing it.
int nightshift_name_exclusive(const char *from, const char *to);

/// A file without a name in a directory, made with the mode rw-rw-rw- (O_TMPFILE of open(2)).
int nightshift_open_unnamed(const char *directory);

/// Whether a directory has an access control list for files that are created in it (acl(5)).
bool nightshift_has_default_access_list(const char *directory);

/// Gives `to` an extended attribute as `from` has it, or takes it away where `from` has none.
int nightshift_copy_attribute(int from, int to, const char *name);

/// Renames, and fails with EEXIST where `to` exists: renameat2(2) with NOREPLACE, or as much where a file system does not know that.
int nightshift_rename_exclusive(const char *from, const char *to);

/// Has a directory's entries survive a power cut, as far as its file system has anything to sync of one.
int nightshift_sync_directory(const char *path);

/// How much free memory stays at the end of each heap; what is more goes back to the system, and so does each larger piece by
/// itself (M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of mallopt(3)).
int nightshift_bound_free_memory(int bytes);

/// Gives the whole free pages of all heaps back to the system (malloc_trim(3)): milliseconds of work.
void nightshift_return_free_memory(void);

/// Nanoseconds since boot, time asleep included (CLOCK_BOOTTIME).
int64_t nightshift_boot_nanoseconds(void);

/// CLOCK_MONOTONIC: as the above without the time that the machine was asleep.
int64_t nightshift_awake_nanoseconds(void);

/// One word of memory that processes share, read and written in one access each.
int64_t nightshift_load_word(const void *word);
void nightshift_store_word(void *word, int64_t value);

/// A descriptor that becomes readable, with ECANCELED, when the wall clock is set (timerfd_create(2)).
int nightshift_clock_change_descriptor(void);

/// Blocks until the wall clock is set; 0, or -1 when the descriptor fails.
int nightshift_wait_for_clock_change(int descriptor);

/// A netlink socket that hears of links, addresses and routes.
int nightshift_network_change_descriptor(void);

/// A netlink socket that hears of the kernel's devices (uevents).
int nightshift_device_event_descriptor(void);

/// Names the calling thread, at most 15 bytes (pthread_setname_np(3)); 0 or an error number.
int nightshift_name_thread(const char *name);

/// Before a fault of this process ends it, writes the signal's number and the moment (two of int64_t; boot nanoseconds) at
/// `place` of `descriptor`: for SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE and SIGSEGV, unless another process sent them. The
/// process ends as it would have.
void nightshift_note_faults(int descriptor, int64_t place);

/// Whether a fault was noted: this process ends, though other threads may run until it has.
int nightshift_fault_is_noted(void);

#endif
