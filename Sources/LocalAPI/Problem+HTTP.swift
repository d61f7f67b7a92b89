import NightshiftAPI

/// Problems of HTTP itself, which the service behind the API knows nothing of.
extension Problem {
    static func methodNotAllowed(_ detail: String) -> Problem {
        Problem(
            type: "/problems/method-not-allowed", title: "The resource does not know this method", status: 405,
            detail: detail)
    }

    static func unsupportedMediaType(_ detail: String) -> Problem {
        Problem(
            type: "/problems/unsupported-media-type", title: "The body is not of a type that is read here",
            status: 415, detail: detail)
    }

    static func headersTooLarge(_ detail: String) -> Problem {
        Problem(
            type: "/problems/headers-too-large", title: "The request's head is too large", status: 431, detail: detail)
    }

    /// An error of the service that no request should be able to cause. Its particulars are in the log.
    static let internalError = Problem(
        type: "/problems/internal", title: "The service made a mistake", status: 500,
        detail: "Its log says more; please report it.")
}
