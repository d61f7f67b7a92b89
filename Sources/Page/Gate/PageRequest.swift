/// The parts of a request on which the decision depends.
struct PageRequest: Hashable, Sendable {
    var method: String
    /// The path with its query, as received.
    var target: String
    /// All `Host` fields, the target's own host among them.
    var hosts: [String] = []
    /// All `Origin` fields.
    var origins: [String] = []
    /// `Sec-Fetch-Site`, which browsers write and pages cannot (Fetch Metadata).
    var fetchSite: String?
    /// `Sec-Purpose`, which browsers send with a prefetch (Fetch).
    var purpose: String?
    /// All `Cookie` fields.
    var cookies: [String] = []
    /// All `Nightshift-Page` fields, which hold the page's token.
    var tokens: [String] = []
    var contentType: String?
    var hasBody = false

    var path: Substring { target.prefix { $0 != "?" } }
}
