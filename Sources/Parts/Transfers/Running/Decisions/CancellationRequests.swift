/// The count of running requests that ask servers to delete an upload. Only a few run at a time. This is a pure value.
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

    /// The maximum number of requests at one time.
    package static let limit = 16
}
