// Message digests of OpenSSL's libcrypto, which libcurl loads anyway. A shim without logic.
#ifndef CDIGEST_H
#define CDIGEST_H

#include <stddef.h>

typedef struct evp_md_ctx_st nightshift_digest;

/// A digest by its OpenSSL name, such as "SHA256"; NULL where libcrypto does not offer it.
nightshift_digest *nightshift_digest_new(const char *algorithm);

/// 1, or 0 on failure.
int nightshift_digest_update(nightshift_digest *digest, const void *bytes, size_t count);

/// Writes the digest to `output`, which holds at least 64 bytes; its length, or 0 on failure.
size_t nightshift_digest_finish(nightshift_digest *digest, unsigned char *output);

void nightshift_digest_free(nightshift_digest *digest);

#endif
