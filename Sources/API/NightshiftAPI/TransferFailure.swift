/// A failure of a transfer: a code from a closed set, with a message.
package struct TransferFailure: Error, Hashable, Sendable, Codable {
    package var code: Code
    /// Details for display: the expected value, the actual value, and possible remedies. The message never contains a
    /// credential.
    package var message: String
    /// The HTTP status, if a response caused the failure.
    package var status: Int?

    package init(_ code: Code, _ message: String, status: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }

    package enum Code: String, Sendable, Codable, CaseIterable {
        // These failures occur on the network, and the transfer is retried until the resource timeout.
        case cannotResolveHost
        case cannotConnect
        case connectionLost
        case idleTimeout
        case truncated
        case tlsFailure
        /// A certificate that is not yet or no longer valid. The cause is a wrong clock or a late renewal of the
        /// certificate.
        case certificateOutOfDate
        case proxyFailure
        case protocolError
        case serverUnavailable
        case resourceChanged
        // These failures occur on this machine, and the transfer waits until the cause is gone.
        case diskFull
        case inputOutput
        // These failures end the transfer.
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
        /// A file with the requested name that may not be replaced.
        case destinationExists
        case tooLarge
        case timedOut
        case cancelled
        /// A force quit of the transfer's app by the user.
        case forceQuit
        /// An internal inconsistency of the service. This bug ends the transfer that encountered it.
        case internalFault
    }

    /// Whether a retry would fail too.
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
