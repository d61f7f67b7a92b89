// The files in Resources/, embedded in the program. A shim without logic.
#ifndef CPAGE_H
#define CPAGE_H

#include <stddef.h>

/// A file: its name in Resources/, and its bytes without a terminating NUL. Valid while the program runs.
struct nightshift_page_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// Returns all files, and their number in `count`.
const struct nightshift_page_file *nightshift_page_files(size_t *count);

#endif
