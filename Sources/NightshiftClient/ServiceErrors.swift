/// The service did not answer, or the connection broke off before it had: asking again may help.
package struct ServiceUnreachable: Error, Sendable {
    /// For a person; holds no credential.
    package var message: String

    package init(message: String) {
        self.message = message
    }
}

/// The service cannot be started, or what it says cannot be understood: asking again at once does not help.
package struct ServiceUnusable: Error, Sendable {
    /// For a person; may have several lines, and quote the service's log as it is.
    package var message: String

    package init(message: String) {
        self.message = message
    }
}
