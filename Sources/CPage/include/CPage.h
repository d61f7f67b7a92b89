// The page's files, Resources/, as bytes of the program. A shim without logic.
#ifndef CPAGE_H
#define CPAGE_H

#include <stddef.h>

/// One file: its name in Resources/, and its bytes without a NUL at their end; valid as long as the program runs.
struct nightshift_page_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// All files, and how many there are.
const struct nightshift_page_file *nightshift_page_files(size_t *count);

#endif
