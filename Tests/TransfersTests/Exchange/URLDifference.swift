import NightshiftAPI

/// Where a transfer's URL is meant to be another than libcurl's: `TransferURL` reads what people write as browsers do, and hands
/// libcurl what both read alike.
enum URLDifference: CaseIterable {
    /// Browsers drop line ends, tabs and what is around a URL, and encode spaces; libcurl refuses them.
    case controls
    /// A backslash is a slash to browsers, and a character to libcurl.
    case backslash
    /// Other schemes, and URLs without one, are no transfers of this service.
    case scheme
    /// Browsers take any number of slashes behind the scheme; libcurl takes one to three.
    case slashes
    /// The host is behind the last `@` to browsers; libcurl refuses a second one.
    case severalAts
    /// Nobody can be connected to on port 0.
    case portZero
    /// Zones of IPv6 addresses have no place in URLs of the URL Standard.
    case zone
    /// A name with an empty label is no name, nor is one that is longer than DNS has them.
    case label
    /// No domain ends in a number: what does is an IPv4 address, also with a dot behind it, or nothing. libcurl looks it up,
    /// and sees no address where digits or dots are encoded.
    case numberAtEnd
    /// libcurl leaves an IPv6 address with an IPv4 address in it as it is written.
    case mixedAddress
    /// The URL Standard forbids some of these in a host, and libcurl does in later versions; libidn2 takes a `~` only where all
    /// is ASCII.
    case mark
    /// A label in two directions, and a joiner where nothing is joined, break rules of IDNA at which libidn2 does not look. Beside
    /// a label of broken punycode it falls back on what was `ß` in IDNA 2003.
    case idna
    /// `%2e` is a dot segment to browsers, and to libcurl since 8.7.
    case encodedDots

    /// Why `text` may come out of both parsers as something else.
    ///
    /// - Parameter theirs: as libcurl reads it.
    init?(_ text: String, ours: TransferURL?, theirs: LibcurlURL?) {
        // Characters would take what follows a slash for a part of it.
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
