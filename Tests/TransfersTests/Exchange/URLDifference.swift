import NightshiftAPI

/// The intended differences between ``TransferURL`` and libcurl's parser. `TransferURL` reads URLs that people write as
/// browsers do, and hands libcurl only URLs that both read alike.
enum URLDifference: CaseIterable {
    /// Browsers remove line ends, tabs and surrounding spaces from a URL, and encode inner spaces; libcurl refuses
    /// them.
    case controls
    /// A backslash is a slash for browsers, and an ordinary character for libcurl.
    case backslash
    /// Transfers need the scheme http or https. URLs with another scheme, or without one, are not allowed.
    case scheme
    /// Browsers accept any number of slashes after the scheme, but libcurl accepts one to three.
    case slashes
    /// For browsers the host begins after the last `@`, but libcurl refuses a second `@`.
    case severalAts
    /// No connection is possible to port 0.
    case portZero
    /// The URL Standard does not allow zones of IPv6 addresses.
    case zone
    /// A name is invalid if it has an empty label, or if it is longer than DNS allows.
    case label
    /// No domain ends in a number. A host that ends in a number is an IPv4 address, even with a dot after it, or is
    /// invalid.
    case numberAtEnd
    /// libcurl does not normalise an IPv6 address that contains an IPv4 address.
    case mixedAddress
    /// The URL Standard forbids some of these characters in a host, and so do later versions of libcurl. libidn2
    /// accepts a `~` only if all characters are ASCII.
    case mark
    /// A label in two directions, and a joiner without characters to join, break IDNA rules that libidn2 does not
    /// check. Next to a label of invalid punycode, libidn2 maps `ß` as IDNA 2003 did.
    case idna
    /// The text `%2e` is a dot segment for browsers, and for libcurl since version 8.7.
    case encodedDots

    /// Finds the reason why the two parsers may read `text` differently.
    ///
    /// - Parameter theirs: the result of libcurl.
    init?(_ text: String, ours: TransferURL?, theirs: LibcurlURL?) {
        // Swift characters would combine a slash with a combining mark after it.
        let scalars = text.unicodeScalars
        let parts = scalars.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let behind = parts.last ?? scalars.suffix(0)
        let authority = behind.drop { $0 == "/" }.prefix { !"/?#".unicodeScalars.contains($0) }
        let place = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? scalars.suffix(0)
        let host = theirs?.host ?? String(place)
        if text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) {
            self = .controls
        } else if scalars.contains("\\") {
            self = .backslash
        } else if parts.count < 2 || !["http", "https"].contains(String(parts[0]).lowercased()) {
            self = .scheme
        } else if behind.prefix(while: { $0 == "/" }).count != 2 {
            self = .slashes
        } else if authority.count(where: { $0 == "@" }) > 1 {
            self = .severalAts
        } else if ours == nil, theirs?.port == 0 {
            self = .portZero
        } else if ours == nil, place.first == "[", place.contains("%") {
            self = .zone
        } else if ours == nil, host.hasPrefix(".") || host.contains("..") || host.utf8.count > 63 {
            self = .label
        } else if host.wholeMatch(of: /(.*\.)?(0x[0-9a-f]*|[0-9]+)\.?/) != nil,
            ours == nil || host.hasSuffix(".") || host.contains("x")
                || place.contains(where: { $0 == "%" || !$0.isASCII })
        {
            self = .numberAtEnd
        } else if place.first == "[", place.contains(".") {
            self = .mixedAddress
        } else if ours == nil
            ? host.contains(where: { "|%~^`\\!$&'()*+,;=".contains($0) })
            : place.contains("~") && !place.allSatisfy(\.isASCII)
        {
            self = .mark
        } else if ours == nil, place.contains(where: { (0x590...0x8FF).contains($0.value) || $0.value == 0x200D }) {
            self = .idna
        } else if place.contains("ß"), text.lowercased().contains("xn--") {
            self = .idna
        } else if text.lowercased().contains("%2e") {
            self = .encodedDots
        } else {
            return nil
        }
    }
}
