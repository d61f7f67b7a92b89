import Foundation
import NightshiftAPI

/// What can be said of a URL before anyone asks the service.
enum URLArgument {
    /// Why `text` cannot be a URL to transfer, or nil. Never repeats a password.
    static func mistake(in text: String) -> String? {
        if text.isEmpty { return "the URL is empty" }
        guard text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7f }) else {
            return "a URL must not contain spaces (write %20) or control characters"
        }
        guard let scheme = text.range(of: "://") else {
            return "a URL begins with http:// or https://"
        }
        guard ["http", "https"].contains(text[..<scheme.lowerBound].lowercased()) else {
            return "only http:// and https:// URLs can be transferred"
        }
        guard !host(of: text).isEmpty else { return "the URL has no host" }
        do {
            // As the service reads it: what it would refuse is told before anything is accepted.
            _ = try TransferURL(parsing: text)
            return nil
        } catch {
            let sentence = error.message.hasSuffix(".") ? error.message.dropLast() : error.message[...]
            return sentence.prefix(1).lowercased() + sentence.dropFirst()
        }
    }

    /// In lower case, an IPv6 address without its brackets; empty where there is none.
    static func host(of url: String) -> String {
        guard let scheme = url.range(of: "://") else { return "" }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        if place.hasPrefix("[") { return place.dropFirst().prefix { $0 != "]" }.lowercased() }
        return place.prefix { $0 != ":" }.lowercased()
    }

    static func isSecure(_ url: String) -> Bool {
        url.prefix(8).lowercased() == "https://"
    }
}
