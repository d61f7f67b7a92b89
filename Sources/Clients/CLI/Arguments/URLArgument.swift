import Foundation
import NightshiftAPI

/// Checks of a URL that need no connection to the service.
enum URLArgument {
    /// Returns the reason why `text` is not a valid URL for a transfer, or nil if it is valid. The reason contains no
    /// password.
    static func mistake(in text: String) -> String? {
        if text.isEmpty { return "the URL is empty" }
        guard text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7f }) else {
            return "a URL must not contain spaces (write %20) or control characters"
        }
        guard let scheme = text.range(of: "://") else {
            return "a URL must begin with http:// or https://"
        }
        guard ["http", "https"].contains(text[..<scheme.lowerBound].lowercased()) else {
            return "only http:// and https:// URLs can be transferred"
        }
        guard !host(of: text).isEmpty else { return "the URL has no host" }
        do {
            // The service parses the URL in the same way. So the command reports an invalid URL before the service
            // accepts any transfer.
            _ = try TransferURL(parsing: text)
            return nil
        } catch {
            let sentence = error.message.hasSuffix(".") ? error.message.dropLast() : error.message[...]
            return sentence.prefix(1).lowercased() + sentence.dropFirst()
        }
    }

    /// Returns the host in lower case, or an empty text if the URL has no host. An IPv6 address has no brackets.
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
