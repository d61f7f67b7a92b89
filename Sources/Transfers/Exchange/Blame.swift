package import NightshiftAPI

/// Where on its way an exchange failed.
package struct FailurePoint: Hashable, Sendable {
    /// How far it came, in order.
    package enum Stage: Hashable, Sendable {
        /// Not beyond the proxy: it was not found, took no connection, or does not speak as a proxy does.
        case proxy
        /// Not to the server: its name, its connection, its TLS, or the tunnel that a proxy was to make.
        case address
        /// The server had the request, or a part of it.
        case server
    }

    /// Scheme, host and port of the server that was asked last, wherever redirects led.
    package var origin: String
    package var stage: Stage

    package init(origin: String, stage: Stage) {
        self.origin = origin
        self.stage = stage
    }
}

extension FailurePoint {
    /// The server that gave an answer.
    package init?(_ head: ResponseHead) {
        guard let url = try? TransferURL(parsing: head.url) else { return nil }
        self.init(origin: url.origin, stage: .server)
    }
}

/// The tasks that a failed attempt is held against: only those that would meet the same trouble wait.
package enum Blame: Hashable, Sendable {
    /// Everybody who uses the task's proxy.
    case proxy
    /// Everybody who goes to the task's origin in its way: directly, or through its proxy.
    case address
    /// Everybody who asks the task's origin: it wants to be left alone for a while.
    case origin
    /// The task alone; its origin was reached.
    case request
    /// The task alone; nothing was learned of its origin.
    case nobody

    /// Decides whom a failure speaks against.
    ///
    /// A server that answers one URL with an error, or falls silent in the middle of it, may be well for all others. So may
    /// an origin whose redirect leads to a server that is down.
    ///
    /// - Parameters:
    ///   - point: nil where no exchange failed: the disk did, say.
    ///   - own: the task's origin.
    ///   - asked: the origin that was asked first: the task's own, or a mirror's.
    ///   - hasOwnTLS: whether the task brings certificates that others do not.
    package static func of(
        _ failure: TransferFailure, at point: FailurePoint?, own: String, asked: String, hasOwnTLS: Bool,
        retryAfter: RetryAfter?
    ) -> Blame {
        guard let point, !failure.code.isOfMachine else { return .nobody }
        if point.stage == .proxy { return .proxy }
        // A redirect that leads elsewhere shows that the origin answers; a mirror shows nothing of it.
        guard point.origin == own else { return asked == own ? .request : .nobody }
        switch point.stage {
        case .proxy: return .proxy
        case .address: return failure.code.isOfTLS && hasOwnTLS ? .request : .address
        case .server:
            let isRefusal = failure.status == 429 || failure.status == 503
            return isRefusal && retryAfter != nil ? .origin : .request
        }
    }
}

extension TransferFailure.Code {
    /// Whether other certificates of this side could make the difference.
    fileprivate var isOfTLS: Bool { self == .tlsFailure || self == .certificateOutOfDate }

    /// Whether the cause is on this machine, or in what was asked.
    fileprivate var isOfMachine: Bool {
        switch self {
        case .diskFull, .inputOutput, .badURL, .unsupportedURL, .checksumMismatch, .sourceChanged, .sourceMissing,
            .destinationUnavailable, .destinationExists, .timedOut, .cancelled, .forceQuit, .internalFault:
            true
        case .cannotResolveHost, .cannotConnect, .connectionLost, .idleTimeout, .truncated, .tlsFailure,
            .certificateOutOfDate, .proxyFailure, .protocolError, .serverUnavailable, .resourceChanged, .httpStatus,
            .tooManyRedirects, .redirectRefused,
            .untrustedServer, .clientCertificate, .tooLarge:
            false
        }
    }
}
