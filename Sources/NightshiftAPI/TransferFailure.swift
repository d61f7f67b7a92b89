/// A failure of a transfer: a code from a closed set, with a message.
package struct TransferFailure: Error, Hashable, Sendable, Codable {
    package var code: Code
    /// Details for people: the expected value, the actual value, and possible remedies. It never contains a credential.
    package var message: String
    /// The HTTP status, if a response caused the failure.
    package var status: Int?

    package init(_ code: Code, _ message: String, status: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }

    package enum Code: String, Sendable, Codable, CaseIterable {
        // Failures on the network: retried until the resource timeout.
        case cannotResolveHost
        case cannotConnect
        case connectionLost
        case idleTimeout
        case truncated
        case tlsFailure
        /// A certificate is not yet valid, or no longer valid: a clock is wrong, or the certificate is about to be
        /// renewed.
        case certificateOutOfDate
        case proxyFailure
        case protocolError
        case serverUnavailable
        case resourceChanged
        // Failures on this machine: the transfer waits until the cause is gone.
        case diskFull
        case inputOutput
        // Failures that end the transfer.
        case badURL
        case unsupportedURL
        case httpStatus
        case tooManyRedirects
        case redirectRefused
        case untrustedServer
        case clientCertificate
        case checksumMismatch
        case sourceChanged
        case sourceMissing
        case destinationUnavailable
        /// The requested name belongs to a file that may not be replaced.
        case destinationExists
        case tooLarge
        case timedOut
        case cancelled
        /// The user force-quit the app of the transfer.
        case forceQuit
        /// The service has an internal inconsistency. This bug ends the transfer that encountered it.
        case internalFault
    }

    /// Whether a retry cannot help.
    package var isPermanent: Bool { code.isPermanent }
}

extension TransferFailure.Code {
    package var isPermanent: Bool {
        switch self {
        case .cannotResolveHost, .cannotConnect, .connectionLost, .idleTimeout, .truncated, .tlsFailure,
            .certificateOutOfDate, .proxyFailure, .protocolError, .serverUnavailable, .resourceChanged, .diskFull,
            .inputOutput:
            false
        case .badURL, .unsupportedURL, .httpStatus, .tooManyRedirects, .redirectRefused, .untrustedServer,
            .clientCertificate, .checksumMismatch, .sourceChanged, .sourceMissing, .destinationUnavailable,
            .destinationExists, .tooLarge, .timedOut, .cancelled, .forceQuit, .internalFault:
            true
        }
    }
}
