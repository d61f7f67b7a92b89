/// An error that prevents serving the local API.
package struct LocalAPIError: Error, Hashable, Sendable, CustomStringConvertible {
    package var code: Code
    /// A message for display: what was attempted, and why it failed.
    package var message: String

    package enum Code: String, Sendable {
        /// The error that the directory or the path of the socket is not usable.
        case unusablePath
        /// The error that the inherited descriptor is not a listening Unix stream socket.
        case unusableDescriptor
        /// The failure of a system call.
        case system
    }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Whether a retry would fail too.
    package var isPermanent: Bool { code != .system }

    package var description: String { message }
}
