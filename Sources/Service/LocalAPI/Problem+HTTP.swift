import NightshiftAPI

/// Problems with HTTP itself, which the other modules do not handle.
extension Problem {
    static func methodNotAllowed(_ detail: String) -> Problem {
        Problem(
            type: "/problems/method-not-allowed", title: "The resource does not support this method", status: 405,
            detail: detail)
    }

    static func unsupportedMediaType(_ detail: String) -> Problem {
        Problem(
            type: "/problems/unsupported-media-type", title: "The media type of the body is not supported",
            status: 415, detail: detail)
    }

    static func headersTooLarge(_ detail: String) -> Problem {
        Problem(
            type: "/problems/headers-too-large", title: "The request head is too large", status: 431, detail: detail)
    }

    /// The problem for a bug of the service: an error that no request should be able to cause. The log contains the
    /// details.
    static let internalError = Problem(
        type: "/problems/internal", title: "Internal error of the service", status: 500,
        detail: "The log of the service has details. Please report this bug.")
}
