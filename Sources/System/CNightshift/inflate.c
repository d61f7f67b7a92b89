#include "include/CNightshiftInflate.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

enum { PIECE = 1 << 16 };

static int write_all(int descriptor, const unsigned char *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write(descriptor, bytes, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return -1;
        bytes += written;
        count -= (size_t)written;
    }
    return 0;
}

static int inflate_with(int from, int to, int bits, nightshift_inflate_take take, void *context) {
    unsigned char input[PIECE], output[PIECE];
    z_stream stream = {0};
    if (inflateInit2(&stream, bits) != Z_OK) {
        errno = ENOMEM;
        return -1;
    }
    int result = -2, state = Z_OK, has_read = 0, was_full = 0;
    int64_t written = 0;
    for (;;) {
        // If the output buffer was full, the bits read so far may contain more output, and the end of the stream.
        if (stream.avail_in == 0 && !was_full) {
            ssize_t count = read(from, input, sizeof input);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) { result = -1; break; }
            if (count == 0) { result = has_read && state == Z_STREAM_END ? 0 : -2; break; }
            has_read = 1;
            stream.next_in = input;
            stream.avail_in = (uInt)count;
        }
        // Another member of a gzip file may follow. Any other bytes are padding and are ignored.
        if (state == Z_STREAM_END) {
            if (bits < 0 || stream.next_in[0] != 0x1f) { result = 0; break; }
            if (inflateReset(&stream) != Z_OK) break;
        }
        stream.next_out = output;
        stream.avail_out = sizeof output;
        state = inflate(&stream, Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) break;
        was_full = state == Z_OK && stream.avail_out == 0;
        size_t count = sizeof output - stream.avail_out;
        written += (int64_t)count;
        if (!take(output, count, written, context)) { result = -3; break; }
        if (write_all(to, output, count) != 0) { result = -1; break; }
        if (state == Z_BUF_ERROR) state = Z_OK;
    }
    inflateEnd(&stream);
    return result;
}

int nightshift_inflate(int from, int to, int may_be_bare, nightshift_inflate_take take, void *context) {
    off_t start = lseek(from, 0, SEEK_CUR), place = lseek(to, 0, SEEK_CUR);
    if (start < 0 || place < 0) return -1;
    int result = inflate_with(from, to, 15 + 32, take, context);
    if (result != -2 || !may_be_bare) return result;
    // "deflate" is the zlib format in RFC 9110, but many servers send it without the zlib frame.
    if (lseek(from, start, SEEK_SET) < 0 || lseek(to, place, SEEK_SET) < 0 || ftruncate(to, place) != 0) return -1;
    return inflate_with(from, to, -15, take, context);
}
