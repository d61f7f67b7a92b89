/// The parts of an HTTP request that the ``RequestGate`` checks.
struct PageRequest: Hashable, Sendable {
    var method: String
    /// The path with its query, as received.
    var target: String
    /// All `Host` fields, and the host of the target if it names one.
    var hosts: [String] = []
    /// All `Origin` fields.
    var origins: [String] = []
    /// The `Sec-Fetch-Site` field (Fetch Metadata). Browsers set it, and pages cannot change it.
    var fetchSite: String?
    /// The `Sec-Purpose` field (Fetch), which browsers send with a prefetch.
    var purpose: String?
    /// All `Cookie` fields.
    var cookies: [String] = []
    /// All `Nightshift-Page` fields, which hold the page's token.
    var tokens: [String] = []
    var contentType: String?
    var hasBody = false

    var path: Substring { target.prefix { $0 != "?" } }
}
