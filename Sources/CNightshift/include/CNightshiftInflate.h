// zlib's streams over whole files.
#ifndef CNIGHTSHIFT_INFLATE_H
#define CNIGHTSHIFT_INFLATE_H

#include <stdbool.h>
#include <stdint.h>

/// Whether to continue, after so many bytes were written.
typedef bool (*nightshift_inflate_check)(int64_t written, void *context);

/// Writes to `to` what the gzip or zlib stream in `from` holds, from where both stand; gzip may have several members, and `may_be_bare`
/// lets a deflate stream without a frame pass. `check` is called before each piece of at most 64 KiB.
/// 0; -1 with errno set where reading or writing failed; -2 where the bytes are no such stream, or not a whole one; -3 where `check`
/// has said no.
int nightshift_inflate(int from, int to, int may_be_bare, nightshift_inflate_check check, void *context);

#endif
