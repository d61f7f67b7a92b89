#include "CDigest.h"

#include <openssl/evp.h>

nightshift_digest *nightshift_digest_new(const char *algorithm) {
    const EVP_MD *kind = EVP_get_digestbyname(algorithm);
    if (kind == NULL) return NULL;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context != NULL && EVP_DigestInit_ex(context, kind, NULL) != 1) {
        EVP_MD_CTX_free(context);
        return NULL;
    }
    return context;
}

int nightshift_digest_restart(nightshift_digest *digest) {
    return EVP_DigestInit_ex(digest, NULL, NULL);
}

int nightshift_digest_update(nightshift_digest *digest, const void *bytes, size_t count) {
    return EVP_DigestUpdate(digest, bytes, count);
}

size_t nightshift_digest_finish(nightshift_digest *digest, unsigned char *output) {
    unsigned int length = 0;
    return EVP_DigestFinal_ex(digest, output, &length) == 1 ? length : 0;
}

void nightshift_digest_free(nightshift_digest *digest) {
    EVP_MD_CTX_free(digest);
}

int nightshift_ed25519_generate(unsigned char *private_key, unsigned char *public_key) {
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    if (key == NULL) return 0;
    size_t private_length = NIGHTSHIFT_ED25519_KEY;
    size_t public_length = NIGHTSHIFT_ED25519_KEY;
    int done = EVP_PKEY_get_raw_private_key(key, private_key, &private_length) == 1 &&
               EVP_PKEY_get_raw_public_key(key, public_key, &public_length) == 1;
    EVP_PKEY_free(key);
    return done && private_length == NIGHTSHIFT_ED25519_KEY && public_length == NIGHTSHIFT_ED25519_KEY;
}

int nightshift_ed25519_public(const unsigned char *private_key, unsigned char *public_key) {
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, private_key, NIGHTSHIFT_ED25519_KEY);
    if (key == NULL) return 0;
    size_t length = NIGHTSHIFT_ED25519_KEY;
    int done = EVP_PKEY_get_raw_public_key(key, public_key, &length);
    EVP_PKEY_free(key);
    return done == 1 && length == NIGHTSHIFT_ED25519_KEY;
}

int nightshift_ed25519_sign(const unsigned char *private_key, const void *bytes, size_t count, unsigned char *signature) {
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, private_key, NIGHTSHIFT_ED25519_KEY);
    if (key == NULL) return 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t length = NIGHTSHIFT_ED25519_SIGNATURE;
    int done = context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
               EVP_DigestSign(context, signature, &length, bytes, count) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return done && length == NIGHTSHIFT_ED25519_SIGNATURE;
}
