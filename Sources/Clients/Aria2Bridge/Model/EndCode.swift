import NightshiftAPI

/// The number with which a download has ended (aria2c(1), "EXIT STATUS").
enum EndCode {
    static let success = 0
    static let removed = 31

    static func of(_ failure: TransferFailure) -> Int {
        switch failure.code {
        case .cannotResolveHost: 19
        case .cannotConnect, .connectionLost, .truncated, .tlsFailure, .proxyFailure, .serverUnavailable,
            .certificateOutOfDate, .untrustedServer, .clientCertificate:
            6
        case .idleTimeout, .timedOut: 2
        case .protocolError: 22
        case .resourceChanged: 8
        case .diskFull: 9
        case .inputOutput: 17
        case .tooManyRedirects, .redirectRefused: 23
        case .checksumMismatch: 32
        case .destinationExists: 13
        case .destinationUnavailable: 16
        case .cancelled, .forceQuit: removed
        case .httpStatus: http(failure.status)
        case .badURL, .unsupportedURL, .sourceChanged, .sourceMissing, .tooLarge, .internalFault: 1
        }
    }

    private static func http(_ status: Int?) -> Int {
        switch status {
        case 404: 3
        case 401, 407: 24
        case 503: 29
        default: 22
        }
    }
}
