/// The error that the service did not respond, or that the connection broke before the response. A retry may help.
package struct ServiceUnreachable: Error, Sendable {
    /// A message for people. It contains no credential.
    package var message: String

    package init(message: String) {
        self.message = message
    }
}

/// The error that the service cannot be started, or that its response cannot be parsed. An immediate retry does not
/// help.
package struct ServiceUnusable: Error, Sendable {
    /// A message for people. It may have several lines, and may contain lines of the service's log.
    package var message: String

    package init(message: String) {
        self.message = message
    }
}
