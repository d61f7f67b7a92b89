/// The reason why the local API cannot be served.
package struct LocalAPIError: Error, Hashable, Sendable, CustomStringConvertible {
    package var code: Code
    /// A message for people: the attempt, and the cause of its failure.
    package var message: String

    package enum Code: String, Sendable {
        /// The directory or the path of the socket is not usable.
        case unusablePath
        /// The inherited descriptor is not a listening Unix stream socket.
        case unusableDescriptor
        /// A system call failed.
        case system
    }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Whether a retry cannot help.
    package var isPermanent: Bool { code != .system }

    package var description: String { message }
}
