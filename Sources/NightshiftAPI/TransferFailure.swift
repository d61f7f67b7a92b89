/// What went wrong with a transfer: a closed set of codes, each with its sentence.
package struct TransferFailure: Error, Hashable, Sendable, Codable {
    package var code: Code
    /// Particulars for a person: what was expected, what came, what to do. Never holds a credential.
    package var message: String
    /// The HTTP status, where a response is the cause.
    package var status: Int?

    package init(_ code: Code, _ message: String, status: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }

    package enum Code: String, Sendable, Codable, CaseIterable {
        // Trouble on the way: retried until the resource timeout.
        case cannotResolveHost
        case cannotConnect
        case connectionLost
        case idleTimeout
        case truncated
        case tlsFailure
        /// A certificate is not yet valid, or no longer: a clock is wrong, or it is about to be renewed.
        case certificateOutOfDate
        case proxyFailure
        case protocolError
        case serverUnavailable
        case resourceChanged
        // Trouble here: waits for the cause to go.
        case diskFull
        case inputOutput
        // Ends the task.
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
        /// A file has the name that was asked for, and may not be replaced.
        case destinationExists
        case tooLarge
        case timedOut
        case cancelled
        /// The user force-quit the task's app.
        case forceQuit
        /// The service has contradicted itself: a fault of its own, which ends the task that met it.
        case internalFault
    }

    /// Whether trying again cannot help.
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
