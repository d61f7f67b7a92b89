// Functions that decompress whole files with zlib.
#ifndef CNIGHTSHIFT_INFLATE_H
#define CNIGHTSHIFT_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A function that receives a piece before it is written. `end` is the number of bytes up to the end of the piece. The
/// first piece may be received twice. Returns whether to continue.
typedef bool (*nightshift_inflate_take)(const void *piece, size_t count, int64_t end, void *context);

/// Decompresses the gzip or zlib stream in `from` to `to`, starting at the current offset of each file. gzip may have
/// several members, and `may_be_bare` allows a deflate stream without a frame. Pieces have at most 64 KiB. Returns 0 on
/// success, -1 with errno set if reading or writing failed, -2 if the stream is invalid or truncated, and -3 if `take`
/// returned false.
int nightshift_inflate(int from, int to, int may_be_bare, nightshift_inflate_take take, void *context);

#endif
