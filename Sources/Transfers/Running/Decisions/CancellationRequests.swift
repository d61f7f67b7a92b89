/// The running requests that ask servers to delete an upload: a few at a time. This is a pure value.
///
/// Uploads without such a request expire on the server.
package struct CancellationRequests: Sendable {
    private var count = 0

    package init() {}

    /// Begins a request.
    ///
    /// - Returns: false if too many requests are running.
    package mutating func begin() -> Bool {
        guard count < Self.limit else { return false }
        count += 1
        return true
    }

    package mutating func end() { count -= 1 }

    /// The most requests at once.
    package static let limit = 16
}
