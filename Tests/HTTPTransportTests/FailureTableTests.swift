import CNightshift
import NightshiftAPI
import NightshiftCurl
import TestSupport
import Testing
import Transfers

@testable import HTTPTransport

/// Tests that temporary errors are retried and permanent ones fail at once, for every error of libcurl and OpenSSL.
@Suite(.timeLimit(.minutes(20))) struct FailureTableTests {
    /// The codes of unsupported protocols, and codes that libcurl no longer uses.
    private static let others: Set<UInt32> = [
        9, 10, 11, 12, 13, 14, 15, 17, 19, 20, 21, 24, 29, 30, 31, 32, 37, 38, 39, 40, 44, 46, 50, 51, 57, 62, 68, 69,
        70,
        71, 72, 73, 74, 75, 76, 78, 79, 84, 85, 86, 87,
    ]

    @Test func `T8: The table has one row for every error of libcurl`() {
        let listed = CurlMeaning.rows.flatMap(\.codes).map(\.rawValue)
        #expect(Set(listed).count == listed.count)
        #expect(Set(listed).isDisjoint(with: Self.others))
        #expect(Set(listed).union(Self.others) == Set(1..<CURL_LAST.rawValue))
        #expect(Set(CurlMeaning.rows.map(\.meaning)) == Set(CurlMeaning.allCases))
    }

    @Test func `T8: Only permanent errors fail at once`() {
        let permanent: [TransferFailure.Code: [CURLcode]] = [
            .untrustedServer: [
                CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
                CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            ],
            .clientCertificate: [CURLE_SSL_CERTPROBLEM, CURLE_SSL_CLIENTCERT],
            .badURL: [CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT, CURLE_LOGIN_DENIED],
            .unsupportedURL: [CURLE_UNSUPPORTED_PROTOCOL],
            .sourceChanged: [CURLE_READ_ERROR],
            .internalFault: [
                CURLE_NOT_BUILT_IN, CURLE_UNKNOWN_OPTION, CURLE_SETOPT_OPTION_SYNTAX, CURLE_FUNCTION_NOT_FOUND,
                CURLE_RECURSIVE_API_CALL, CURLE_INTERFACE_FAILED,
            ],
        ]
        let codes = Dictionary(
            uniqueKeysWithValues: permanent.flatMap { row in row.value.map { ($0.rawValue, row.key) } })
        // The last code belongs to a future libcurl.
        for raw in 1...(CURL_LAST.rawValue + 1) {
            let failure = TransferFailure(CurlEnd(code: Int32(raw)), of: CurlRequest(url: "https://example.org/"))
            #expect(failure.isPermanent == (codes[raw] != nil), "\(raw): \(failure)")
            if let code = codes[raw] { #expect(failure.code == code, "\(raw)") }
        }
        var missing = CurlRequest(url: "https://example.org/")
        missing.certificateAuthority = "/a.pem"
        let end = CurlEnd(code: Int32(CURLE_SSL_CACERT_BADFILE.rawValue))
        #expect(TransferFailure(end, of: missing).code == .untrustedServer)
    }

    @Test(arguments: [
        ("https://example.org/", "example.org:443"), ("http://example.org/a:b", "example.org:80"),
        ("http://example.org:8080/", "example.org:8080"), ("https://u:p@[::1]/", "[::1]:443"),
        ("https://[::1]:8443/", "[::1]:8443"),
    ])
    func `T8: The message about a refused connection names the host and the port`(_ url: String, _ place: String) {
        let failure = TransferFailure(
            CurlEnd(code: Int32(CURLE_COULDNT_CONNECT.rawValue)), of: CurlRequest(url: url))
        #expect(failure.message.hasPrefix("No connection to \(place)"), "\(failure.message)")
    }

    @Test func `T8: Only OpenSSL's errors of time and of this machine are temporary`() {
        let waits: [Int: TransferFailure.Code] = [
            // These are UNABLE_TO_GET_CRL, CERT_NOT_YET_VALID, CERT_HAS_EXPIRED, CRL_NOT_YET_VALID, CRL_HAS_EXPIRED and
            // OCSP_VERIFY_NEEDED.
            3: .certificateOutOfDate, 9: .certificateOutOfDate, 10: .certificateOutOfDate, 11: .certificateOutOfDate,
            12: .certificateOutOfDate, 73: .certificateOutOfDate,
            // These are OUT_OF_MEM and STORE_LOOKUP.
            17: .inputOutput, 70: .inputOutput,
        ]
        for result in 0...100 {
            for isProxy in [false, true] {
                var end = CurlEnd(code: Int32(CURLE_PEER_FAILED_VERIFICATION.rawValue))
                if isProxy { end.proxyVerification = result } else { end.verification = result }
                let failure = TransferFailure(end, of: CurlRequest(url: "https://example.org/"))
                #expect(failure.code == waits[result] ?? .untrustedServer, "\(result)")
                #expect(failure.isPermanent == (waits[result] == nil), "\(result)")
            }
        }
    }

    @Test(arguments: TestCertificates.Flaw.allCases)
    func `T8: An expired certificate is retried, but a wrong name or authority is not`(
        flaw: TestCertificates.Flaw
    ) async throws {
        var options = WebServer.NginxOptions()
        options.certificates = try await TestCertificates(server: flaw)
        let server = try await WebServer.nginx(options)
        let end = try await TestTransport().end(.direct(server.url("/file"), certificates: server.certificates))
        #expect(end.failure?.code == (flaw == .expired ? .certificateOutOfDate : .untrustedServer), "\(end)")
        #expect(end.failure?.isPermanent == (flaw != .expired))
        #expect(end.failurePoint?.stage == .address)
    }
}
