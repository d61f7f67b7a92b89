#define _GNU_SOURCE
#include "CNightshiftKeeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// This file makes only async-signal-safe calls, because it runs in forks of a program with threads.

struct mapping {
    uintptr_t start, end;
    int is_private_writable, has_file, is_heap;
};

// Smaller mappings are kept: the C library and its loader create such mappings at the start of a program and still need
// them. Allocators map 64 MiB at a time, and stacks have 8 MiB.
static const uintptr_t smallest = 1 << 20;

static uintptr_t hexadecimal(const char **text) {
    uintptr_t value = 0;
    for (;; (*text)++) {
        char digit = **text;
        if (digit >= '0' && digit <= '9') {
            value = value << 4 | (uintptr_t)(digit - '0');
        } else if (digit >= 'a' && digit <= 'f') {
            value = value << 4 | (uintptr_t)(digit - 'a' + 10);
        } else {
            return value;
        }
    }
}

// Parses a line `start-end rwxp offset device inode path` (proc_pid_maps(5)). Returns 0 if it cannot be parsed.
static int parse(const char *line, struct mapping *mapping) {
    mapping->start = hexadecimal(&line);
    if (*line++ != '-') return 0;
    mapping->end = hexadecimal(&line);
    if (strlen(line) < 6) return 0;
    mapping->is_private_writable = line[2] == 'w' && line[4] == 'p';
    line += 6;
    // The offset and the device are skipped. The inode follows, which is 0 without a file.
    for (int field = 0; field < 2; field++) {
        line = strchr(line, ' ');
        if (line == NULL) return 0;
        line++;
    }
    mapping->has_file = *line != '0';
    mapping->is_heap = strstr(line, "[heap]") != NULL;
    return 1;
}

static void drop(uintptr_t start, uintptr_t end) {
    if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
}

static void consider(const struct mapping *mapping, const struct mapping *before) {
    if (!mapping->is_private_writable || mapping->has_file) return;
    // A mapping directly after a mapped file belongs to the data of that file.
    if (before->has_file && before->is_private_writable && before->end == mapping->start) return;
    if (!mapping->is_heap && mapping->end - mapping->start < smallest) return;
    // The stack is kept, together with the C library's data about the thread. The data about the main thread is
    // elsewhere, in a mapping that may have been merged with adjacent allocations.
    uintptr_t here = (uintptr_t)&mapping, thread = (uintptr_t)&errno & ~(smallest - 1);
    if (here >= mapping->start && here < mapping->end) return;
    drop(mapping->start, mapping->end < thread - smallest ? mapping->end : thread - smallest);
    drop(mapping->start > thread + 2 * smallest ? mapping->start : thread + 2 * smallest, mapping->end);
}

void nightshift_drop_memory(void) {
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    char text[8192];
    size_t length = 0;
    struct mapping before = {0, 0, 0, 0, 0};
    for (;;) {
        ssize_t count = read(file, text + length, sizeof text - 1 - length);
        if (count <= 0) break;
        length += (size_t)count;
        text[length] = 0;
        char *line = text;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            struct mapping mapping;
            if (!parse(line, &mapping)) continue;
            consider(&mapping, &before);
            before = mapping;
        }
        length -= (size_t)(line - text);
        // A longer line is not a mapping of this program.
        if (length == sizeof text - 1) break;
        memmove(text, line, length);
    }
    close(file);
}
