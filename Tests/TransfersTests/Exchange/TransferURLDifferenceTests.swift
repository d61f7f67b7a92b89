import CNightshift
import Foundation
import NightshiftAPI
import Testing
import Transfers

/// Tests that compare ``TransferURL`` with the parser of libcurl, which receives its URLs. The inputs are the same in
/// each run.
@Suite struct TransferURLDifferenceTests {
    private static let seeds: [UInt64] = [1, 2, 3, 4]

    private func forURLs(seed: UInt64, count: Int = 10_000, _ body: (String, TransferURL?) -> Void) {
        var generator = URLGenerator(seed: seed)
        for _ in 0..<count {
            let text = generator.next()
            body(text, try? TransferURL(parsing: text))
        }
    }

    private func origin(_ url: LibcurlURL) -> String { "\(url.scheme)://\(url.host):\(url.port)" }

    /// Returns the path and the query of a URL.
    private func target(_ url: LibcurlURL) -> String { url.path + (url.query.map { "?\($0)" } ?? "") }

    private func target(_ url: TransferURL) -> String {
        String(url.string.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" })
    }

    /// Returns the decoded bytes of a percent-encoded text.
    private func decoded(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).map { Character(Unicode.Scalar($0)) }
            if byte == UInt8(ascii: "%"), digits.count == 2, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) {
                bytes += UInt8(String(digits), radix: 16).map { [$0] } ?? []
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// The most important test: libcurl connects to the host that the service has checked.
    @Test(arguments: seeds)
    func `libcurl reads each URL from the service in the same way as the service`(seed: UInt64) {
        var accepted = 0
        forURLs(seed: seed) { text, ours in
            guard let ours else { return }
            accepted += 1
            guard let theirs = LibcurlURL(parsing: ours.string) else {
                Issue.record("libcurl refuses \(ours.string), from \(text.debugDescription)")
                return
            }
            always(origin(theirs) == ours.origin, "\(text.debugDescription): \(ours.origin), \(origin(theirs))")
            always(target(theirs) == target(ours), "\(text.debugDescription): \(target(ours)), \(target(theirs))")
            always(theirs.user == nil && theirs.password == nil, text.debugDescription)
        }
        #expect(accepted > 3_000)
    }

    @Test(arguments: seeds)
    func `libcurl reads each URL in the same way, except for known differences`(seed: UInt64) {
        var compared = 0
        forURLs(seed: seed) { text, ours in
            let theirs = LibcurlURL(parsing: text, flags: CURLU_URLENCODE)
            guard URLDifference(text, ours: ours, theirs: theirs) == nil else { return }
            guard let ours, let theirs else {
                always(ours == nil && theirs == nil, "\(text.debugDescription): \(ours as Any), \(theirs as Any)")
                return
            }
            compared += 1
            always(origin(theirs) == ours.origin, "\(text.debugDescription): \(ours.origin), \(origin(theirs))")
            // The encoding differs: libcurl encodes only characters that could not be sent, browsers more.
            always(
                decoded(target(ours)) == decoded(target(theirs)),
                "\(text.debugDescription): \(target(ours)), \(target(theirs))")
        }
        #expect(compared > 1_000)
    }

    @Test func `Each known difference occurs in at least one generated URL`() {
        var missing = Set(URLDifference.allCases)
        for seed in Self.seeds {
            forURLs(seed: seed) { text, ours in
                let theirs = LibcurlURL(parsing: text, flags: CURLU_URLENCODE)
                let isSame =
                    ours?.origin == theirs.map(origin)
                    && ours.map { decoded(target($0)) } == theirs.map { decoded(target($0)) }
                if !isSame, let reason = URLDifference(text, ours: ours, theirs: theirs) { missing.remove(reason) }
            }
        }
        #expect(missing == [])
    }

    @Test(arguments: [
        ("http://127.1/", "http://127.0.0.1/"), ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://0177.0.0.1/", "http://127.0.0.1/"), ("http://2130706433/", "http://127.0.0.1/"),
        ("http://127.0.0.1./", "http://127.0.0.1/"), ("http://１２７．1/", "http://127.0.0.1/"),
        ("http://0X7F.1/", "http://127.0.0.1/"), ("http://%31%32%37.1/", "http://127.0.0.1/"),
        ("http://4294967295/", "http://255.255.255.255/"), ("http://0/", "http://0.0.0.0/"),
        ("http://1.0x/", "http://1.0.0.0/"), ("http://1.2.3.4.example/", "http://1.2.3.4.example/"),
        ("http://0xg.example/", "http://0xg.example/"), ("http://a.0xg/", "http://a.0xg/"),
    ])
    func `IPv4 addresses are read in all their forms`(text: String, expected: String) throws {
        #expect(try TransferURL(parsing: text).string == expected)
    }

    @Test(arguments: [
        "http://256.1.1.1/", "http://1.2.3.4.5/", "http://1.2.3.08/", "http://4294967296/",
        "http://example.1/", "http://1.2.3.256/", "http://99999999999999999999999/", "http://a.0x1/",
        "http://1.2.3.4.5./",
    ])
    func `A host that ends in a number is refused unless it is an address`(text: String) {
        let failure = #expect(throws: TransferFailure.self) { try TransferURL(parsing: text) }
        #expect(failure?.code == .badURL)
        #expect(failure?.message.contains("IPv4") == true)
    }

    @Test(arguments: Array("!$&'()*+,;="))
    func `Hosts do not contain characters at which libcurl stops`(mark: Character) {
        #expect(throws: TransferFailure.self) { try TransferURL(parsing: "http://a\(mark)b/") }
    }
}
