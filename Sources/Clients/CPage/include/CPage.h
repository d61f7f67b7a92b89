// The interface to the files in Resources/, which are embedded in the program.
#ifndef CPAGE_H
#define CPAGE_H

#include <stddef.h>

/// An embedded file: its name in Resources/, and its bytes without a terminating NUL. The pointers are always valid.
struct nightshift_page_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// Returns all files, and their number in `count`.
const struct nightshift_page_file *nightshift_page_files(size_t *count);

#endif
