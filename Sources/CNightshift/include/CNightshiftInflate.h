// zlib's streams over whole files.
#ifndef CNIGHTSHIFT_INFLATE_H
#define CNIGHTSHIFT_INFLATE_H

/// Writes to `to` what the gzip or zlib stream in `from` holds, from where both stand; gzip may have several members, and `may_be_bare`
/// lets a deflate stream without a frame pass.
/// 0; -1 with errno set where reading or writing failed; -2 where the bytes are no such stream, or not a whole one.
int nightshift_inflate(int from, int to, int may_be_bare);

#endif
