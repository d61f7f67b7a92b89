/// Requests under way that tell servers to forget an upload: a few at a time. Pure.
///
/// What is not told expires with the server.
package struct CancellationRequests: Sendable {
    private var count = 0

    package init() {}

    /// - Returns: false where as many are under way as may be.
    package mutating func begin() -> Bool {
        guard count < Self.limit else { return false }
        count += 1
        return true
    }

    package mutating func end() { count -= 1 }

    /// Servers that are told something at once.
    package static let limit = 16
}
