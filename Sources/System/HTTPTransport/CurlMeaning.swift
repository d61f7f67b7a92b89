import CNightshift

/// The meaning of libcurl's error codes for a transfer. It has a row for every code of libcurl 7.88.
///
/// Errors that time may resolve are retried (``TransferFailure/isPermanent`` of the code). docs/transfers.md has the
/// table for readers.
enum CurlMeaning: CaseIterable, Hashable, Sendable {
    case noAddress, noConnection, noProxy
    case silence, cutOff, noAnswer, connectionLost
    case noTLS, certificate, trustedCertificates, clientCertificate
    case malformedURL, credentialInURL, unsupportedScheme
    /// The server violates HTTP. The operator may replace or repair it.
    case notHTTP
    case reading, writing, memory
    /// This program requested something that libcurl does not support. A retry fails in the same way.
    case fault

    /// Creates the meaning of a code; nil for success. A code that only a later libcurl has counts as a network error.
    init?(_ code: CURLcode) {
        guard code != CURLE_OK else { return nil }
        self = Self.rows.first { $0.codes.contains(code) }?.meaning ?? .notHTTP
    }

    /// The meanings with their codes.
    static let rows: [(meaning: CurlMeaning, codes: [CURLcode])] = [
        // libcurl does not distinguish EAI_AGAIN, EAI_NONAME and similar errors. Each of them also occurs while the
        // name server or the network is not available yet.
        (.noAddress, [CURLE_COULDNT_RESOLVE_HOST]),
        (.noConnection, [CURLE_COULDNT_CONNECT, CURLE_NO_CONNECTION_AVAILABLE, CURLE_QUIC_CONNECT_ERROR]),
        (.noProxy, [CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY]),
        (.silence, [CURLE_OPERATION_TIMEDOUT]),
        (.cutOff, [CURLE_PARTIAL_FILE]),
        (.noAnswer, [CURLE_GOT_NOTHING]),
        (
            .connectionLost,
            [
                CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND, CURLE_AGAIN, CURLE_SSL_SHUTDOWN_FAILED,
                CURLE_UNRECOVERABLE_POLL,
            ]
        ),
        (
            .noTLS,
            [
                CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
                CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED,
            ]
        ),
        (
            .certificate,
            [
                CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
                CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            ]
        ),
        (.trustedCertificates, [CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE]),
        (.clientCertificate, [CURLE_SSL_CERTPROBLEM, CURLE_SSL_CLIENTCERT]),
        (.malformedURL, [CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT]),
        (.credentialInURL, [CURLE_LOGIN_DENIED]),
        (.unsupportedScheme, [CURLE_UNSUPPORTED_PROTOCOL]),
        (
            .notHTTP,
            [
                CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_AUTH_ERROR,
                CURLE_BAD_CONTENT_ENCODING, CURLE_RANGE_ERROR, CURLE_HTTP_RETURNED_ERROR, CURLE_HTTP_POST_ERROR,
                CURLE_TOO_MANY_REDIRECTS, CURLE_BAD_DOWNLOAD_RESUME, CURLE_FILESIZE_EXCEEDED, CURLE_UPLOAD_FAILED,
                CURLE_CHUNK_FAILED,
            ]
        ),
        (.reading, [CURLE_READ_ERROR]),
        (.writing, [CURLE_WRITE_ERROR]),
        (.memory, [CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_ABORTED_BY_CALLBACK]),
        (
            .fault,
            [
                CURLE_NOT_BUILT_IN, CURLE_UNKNOWN_OPTION, CURLE_SETOPT_OPTION_SYNTAX, CURLE_FUNCTION_NOT_FOUND,
                CURLE_RECURSIVE_API_CALL, CURLE_INTERFACE_FAILED,
            ]
        ),
    ]
}

/// The meaning of OpenSSL's certificate verification results (`X509_V_ERR_*`, x509_vfy.h of OpenSSL 3.0).
enum CertificateFlaw: Hashable, Sendable {
    /// The certificate or the revocation list is not yet valid or has expired. This machine's clock may be wrong, or a
    /// renewal may be due.
    case outOfDate
    /// This machine could not verify the certificate.
    case unchecked
    /// The certificate will never be accepted: its authority is not trusted, it has another name, or it is revoked or
    /// malformed.
    case untrusted

    /// Creates the meaning of a verification result.
    ///
    /// - Parameter result: The value of `CURLINFO_SSL_VERIFYRESULT`. It is 0 if libcurl itself rejects the certificate,
    ///   usually because of the name.
    init(_ result: Int) {
        self =
            switch result {
            // These are UNABLE_TO_GET_CRL, CERT_NOT_YET_VALID, CERT_HAS_EXPIRED, CRL_NOT_YET_VALID, CRL_HAS_EXPIRED and
            // OCSP_VERIFY_NEEDED.
            case 3, 9, 10, 11, 12, 73: .outOfDate
            // These are OUT_OF_MEM and STORE_LOOKUP.
            case 17, 70: .unchecked
            default: .untrusted
            }
    }
}
