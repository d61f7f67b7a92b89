package import NightshiftAPI

/// The point at which an exchange failed.
package struct FailurePoint: Hashable, Sendable {
    /// The stage that the exchange reached, in order.
    package enum Stage: Hashable, Sendable {
        /// The proxy was not reached: its name was not found, it refused the connection, or it did not respond as a
        /// proxy.
        case proxy
        /// The server was not reached: resolving its name, connecting, TLS, or the proxy's tunnel failed.
        case address
        /// The server received the request, or a part of the request.
        case server
    }

    /// Scheme, host and port of the last server that was contacted, after all redirects.
    package var origin: String
    package var stage: Stage

    package init(origin: String, stage: Stage) {
        self.origin = origin
        self.stage = stage
    }
}

extension FailurePoint {
    /// Creates the failure point of the server that sent this response.
    package init?(_ head: ResponseHead) {
        guard let url = try? TransferURL(parsing: head.url) else { return nil }
        self.init(origin: url.origin, stage: .server)
    }
}

/// The tasks that wait after a failed attempt, because the same cause would make them fail.
package enum FailureAttribution: Hashable, Sendable {
    /// All tasks that use the same proxy.
    case proxy
    /// All tasks with the same origin and the same route: directly, or through the same proxy.
    case address
    /// All tasks of the same origin: the server asked for a pause.
    case origin
    /// The task alone. Its origin was reached.
    case request
    /// The task alone. The attempt says nothing about its origin.
    case nobody

    /// Decides which tasks wait after a failure.
    ///
    /// A server that answers one URL with an error, or becomes silent during its response, may work for all other URLs.
    /// The same is true of an origin that redirects to a server that is down.
    ///
    /// - Parameters:
    ///   - point: nil if no exchange failed, for example if the disk failed.
    ///   - own: the task's origin.
    ///   - asked: the origin of the first request: the task's own, or a mirror's.
    ///   - hasOwnTLS: whether the task uses certificates that other tasks do not use.
    package static func of(
        _ failure: TransferFailure, at point: FailurePoint?, own: String, asked: String, hasOwnTLS: Bool,
        retryAfter: RetryAfter?
    ) -> FailureAttribution {
        guard let point, !failure.code.isOfMachine else { return .nobody }
        if point.stage == .proxy { return .proxy }
        // A redirect to another origin shows that the task's own origin responds. A mirror shows nothing about the
        // task's own origin.
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
    /// Whether other certificates on the client's side could prevent the failure.
    fileprivate var isOfTLS: Bool { self == .tlsFailure || self == .certificateOutOfDate }

    /// Whether the cause is on this machine, or in the request.
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
