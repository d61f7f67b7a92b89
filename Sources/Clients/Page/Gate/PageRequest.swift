/// The parts of an HTTP request that the ``RequestGate`` checks.
struct PageRequest: Hashable, Sendable {
    var method: String
    /// The path with its query, as received.
    var target: String
    /// The values of all `Host` fields, and the host of the target if it names one.
    var hosts: [String] = []
    /// The values of all `Origin` fields.
    var origins: [String] = []
    /// The `Sec-Fetch-Site` field (Fetch Metadata). Browsers set it, and pages cannot change it.
    var fetchSite: String?
    /// The `Sec-Purpose` field (Fetch), which browsers send with a prefetch.
    var purpose: String?
    /// The values of all `Cookie` fields.
    var cookies: [String] = []
    /// The values of all `Nightshift-Page` fields, which contain the page's token.
    var tokens: [String] = []
    var contentType: String?
    var hasBody = false

    var path: Substring { target.prefix { $0 != "?" } }
}
