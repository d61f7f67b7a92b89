// A part in the TLS handshakes that libcurl makes with OpenSSL. A shim without logic; a context is an `SSL_CTX`.
#ifndef CTLS_H
#define CTLS_H

#include <stddef.h>

/// The check of one peer's certificates (X509_STORE_CTX(3)).
typedef struct x509_store_ctx_st nightshift_tls_verification;
typedef struct ssl_st nightshift_tls_connection;

/// Returns 1 to go on with the handshake, 0 to end it.
typedef int (*nightshift_tls_verify_callback)(nightshift_tls_verification *verification, void *owner);
typedef int (*nightshift_tls_certificate_callback)(nightshift_tls_connection *connection, void *owner);
typedef void (*nightshift_tls_release_callback)(void *owner);

/// A place for owners in contexts, to be asked for once; `release` gets each owner when its context is freed. -1 on failure.
int nightshift_tls_owner_index(nightshift_tls_release_callback release);

/// Keeps `owner` with the context. 1, or 0 on failure: then it is not released either.
int nightshift_tls_set_owner(void *context, int index, void *owner);

/// The newest version that the context allows, as on the wire (0x0304 is TLS 1.3); 0: no bound.
long nightshift_tls_maximum_version(void *context);

/// Asks in place of OpenSSL's own check of the server's certificates (SSL_CTX_set_cert_verify_callback(3)).
void nightshift_tls_set_verify_callback(void *context, nightshift_tls_verify_callback callback, void *owner);

/// Asks when the server wants a certificate (SSL_CTX_set_cert_cb(3)).
void nightshift_tls_set_certificate_callback(void *context, nightshift_tls_certificate_callback callback, void *owner);

/// The name that the server's certificate has to be for: an address, or else a host name. 1, or 0 on failure.
int nightshift_tls_expect_name(nightshift_tls_verification *verification, const char *name);

/// OpenSSL's own check. 1 when the chain is trusted.
int nightshift_tls_verify(nightshift_tls_verification *verification);

/// What the check came to; 0 is good (X509_STORE_CTX_get_error(3)).
int nightshift_tls_result(nightshift_tls_verification *verification);
void nightshift_tls_set_result(nightshift_tls_verification *verification, int result);
const char *nightshift_tls_result_text(int result);

/// The certificates that the server sent, its own first.
int nightshift_tls_certificate_count(nightshift_tls_verification *verification);

/// The length in DER of one of them, written to `output` where that is not NULL; less than 1 on failure.
int nightshift_tls_certificate_der(nightshift_tls_verification *verification, int index, unsigned char *output);

/// Writes the SHA-256 of the server's own certificate in DER, 32 bytes. 1, or 0 on failure.
int nightshift_tls_leaf_sha256(nightshift_tls_verification *verification, unsigned char *output);

#endif
