/// Why the local API cannot be served.
package struct LocalAPIError: Error, Hashable, Sendable, CustomStringConvertible {
    package var code: Code
    /// What was tried and what stood in the way, for a person.
    package var message: String

    package enum Code: String, Sendable {
        /// The directory or the path of the socket cannot be used.
        case unusablePath
        /// The descriptor that was handed over is not a listening Unix stream socket.
        case unusableDescriptor
        /// A system call failed.
        case system
    }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Whether trying again cannot help.
    package var isPermanent: Bool { code != .system }

    package var description: String { message }
}
