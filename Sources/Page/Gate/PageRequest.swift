/// What of a request decides whether it is answered, without a server around it.
struct PageRequest: Hashable, Sendable {
    var method: String
    /// With its query, as it came.
    var target: String
    /// All `Host` fields, the target's own host among them.
    var hosts: [String] = []
    /// All `Origin` fields.
    var origins: [String] = []
    /// `Sec-Fetch-Site`, which browsers write and pages cannot (Fetch Metadata).
    var fetchSite: String?
    /// `Sec-Purpose`: present when the browser fetches ahead of a click (Fetch).
    var purpose: String?
    /// All `Cookie` fields.
    var cookies: [String] = []
    /// All fields with the page's token.
    var tokens: [String] = []
    var contentType: String?
    var hasBody = false

    var path: Substring { target.prefix { $0 != "?" } }
}
