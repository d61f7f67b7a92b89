// Message digests and Ed25519 of OpenSSL's libcrypto, which libcurl loads anyway. A shim without logic.
#ifndef CDIGEST_H
#define CDIGEST_H

#include <stddef.h>

typedef struct evp_md_ctx_st nightshift_digest;

/// A digest by its OpenSSL name, such as "SHA256"; NULL where libcrypto does not offer it.
nightshift_digest *nightshift_digest_new(const char *algorithm);

/// Forgets the bytes so far; 1, or 0 on failure.
int nightshift_digest_restart(nightshift_digest *digest);

/// 1, or 0 on failure.
int nightshift_digest_update(nightshift_digest *digest, const void *bytes, size_t count);

/// Writes the digest to `output`, which holds at least 64 bytes; its length, or 0 on failure.
size_t nightshift_digest_finish(nightshift_digest *digest, unsigned char *output);

void nightshift_digest_free(nightshift_digest *digest);

/// Bytes of a key, private or public, and of a signature (RFC 8032).
#define NIGHTSHIFT_ED25519_KEY 32
#define NIGHTSHIFT_ED25519_SIGNATURE 64

/// Makes a key pair. 1, or 0 on failure, as with the two below.
int nightshift_ed25519_generate(unsigned char *private_key, unsigned char *public_key);

/// The public key that belongs to a private one.
int nightshift_ed25519_public(const unsigned char *private_key, unsigned char *public_key);

int nightshift_ed25519_sign(const unsigned char *private_key, const void *bytes, size_t count, unsigned char *signature);

#endif
