#include "CTLS.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

static void release_owner(void *parent, void *owner, CRYPTO_EX_DATA *data, int index, long number, void *release) {
    (void)parent, (void)data, (void)index, (void)number;
    // Contexts that are not libcurl's, or have no owner, are freed as well.
    if (owner != NULL) ((nightshift_tls_release_callback)release)(owner);
}

int nightshift_tls_owner_index(nightshift_tls_release_callback release) {
    return SSL_CTX_get_ex_new_index(0, (void *)release, NULL, NULL, release_owner);
}

int nightshift_tls_set_owner(void *context, int index, void *owner) {
    return SSL_CTX_set_ex_data(context, index, owner);
}

long nightshift_tls_maximum_version(void *context) {
    return SSL_CTX_get_max_proto_version((SSL_CTX *)context);
}

void nightshift_tls_set_verify_callback(void *context, nightshift_tls_verify_callback callback, void *owner) {
    SSL_CTX_set_cert_verify_callback(context, callback, owner);
}

void nightshift_tls_set_certificate_callback(void *context, nightshift_tls_certificate_callback callback, void *owner) {
    SSL_CTX_set_cert_cb(context, callback, owner);
}

int nightshift_tls_expect_name(nightshift_tls_verification *verification, const char *name) {
    X509_VERIFY_PARAM *parameters = X509_STORE_CTX_get0_param(verification);
    if (X509_VERIFY_PARAM_set1_ip_asc(parameters, name) == 1) return 1;
    // As libcurl: "f*.example.org" is for nobody.
    X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(parameters, name, 0);
}

int nightshift_tls_verify(nightshift_tls_verification *verification) {
    return X509_verify_cert(verification) == 1;
}

int nightshift_tls_result(nightshift_tls_verification *verification) {
    return X509_STORE_CTX_get_error(verification);
}

void nightshift_tls_set_result(nightshift_tls_verification *verification, int result) {
    X509_STORE_CTX_set_error(verification, result);
}

const char *nightshift_tls_result_text(int result) {
    return X509_verify_cert_error_string(result);
}

int nightshift_tls_certificate_count(nightshift_tls_verification *verification) {
    return sk_X509_num(X509_STORE_CTX_get0_untrusted(verification));
}

int nightshift_tls_certificate_der(nightshift_tls_verification *verification, int index, unsigned char *output) {
    X509 *certificate = sk_X509_value(X509_STORE_CTX_get0_untrusted(verification), index);
    return certificate == NULL ? 0 : i2d_X509(certificate, output == NULL ? NULL : &output);
}

int nightshift_tls_leaf_sha256(nightshift_tls_verification *verification, unsigned char *output) {
    X509 *certificate = X509_STORE_CTX_get0_cert(verification);
    return certificate != NULL && X509_digest(certificate, EVP_sha256(), output, NULL) == 1;
}
