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
