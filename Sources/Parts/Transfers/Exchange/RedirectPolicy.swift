package import NightshiftAPI

/// The step that follows a response of the 3xx class.
package enum Redirect: Hashable, Sendable {
    case follow(url: String, method: String, keepsBody: Bool)
    /// The response is final.
    case none
    case refuse(TransferFailure)
}

/// The rules for following redirects. ``WireRequest/moved(to:)`` decides what is sent to the new URL.
package enum RedirectPolicy {
    /// Decides where a response leads (RFC 9110, section 15.4; methods change as in browsers).
    ///
    /// 300, 304, 305, 306 and responses without `Location` are final. A user name or password in `Location` is dropped:
    /// one origin must not choose the credentials that another origin receives. A redirect from https to http is
    /// refused, because data that was requested over an encrypted connection would be sent unencrypted.
    ///
    /// - Parameters:
    ///   - url: the absolute URL that sent the response.
    ///   - hop: the number of redirects that were followed before this one.
    package static func next(
        status: Int, location: String?, from url: String, method: String, hop: Int
    ) -> Redirect {
        guard [301, 302, 303, 307, 308].contains(status), let location, !location.trimmedOfBlanks.isEmpty else {
            return .none
        }
        guard hop < Limits.redirects else {
            return .refuse(
                TransferFailure(
                    .tooManyRedirects, "The server redirected more than \(Limits.redirects) times; it may be a loop.",
                    status: status))
        }
        let base: TransferURL
        let target: TransferURL
        do throws(TransferFailure) {
            base = try TransferURL(parsing: url)
            target = try TransferURL(parsing: location, relativeTo: base)
        } catch {
            return .refuse(
                TransferFailure(
                    .redirectRefused,
                    "The server redirected to \(Redaction.url(String(location.prefix(shownLength)))). The server chose "
                        + "that URL, not you. \(error.message)",
                    status: status))
        }
        if base.isSecure, !target.isSecure {
            return .refuse(
                TransferFailure(
                    .redirectRefused,
                    "The server redirected from https to http, which others on the network can read and change. "
                        + "If you accept that, request the http URL itself: \(Redaction.url(target.string))",
                    status: status))
        }
        let nextMethod = self.method(after: status, method)
        return .follow(
            url: target.string, method: nextMethod, keepsBody: nextMethod == method && status != 303)
    }

    /// The number of characters of a refused `Location` that are shown.
    private static let shownLength = 200

    /// Returns the header fields for a redirect that changes the method. Fields that describe a body are removed,
    /// because no body is sent.
    package static func withoutBody(_ headers: [HeaderField]) -> [HeaderField] {
        headers.filter { !bodyFields.contains($0.name.lowercased()) }
    }

    private static func method(after status: Int, _ method: String) -> String {
        switch status {
        case 301, 302: method == "POST" ? "GET" : method
        case 303: method == "HEAD" ? "HEAD" : "GET"
        default: method
        }
    }

    private static let bodyFields: Set<String> = [
        "content-encoding", "content-language", "content-length", "content-location", "content-type", "content-digest",
        "repr-digest", "transfer-encoding", "expect", "upload-complete", "upload-incomplete", "upload-length",
        "upload-offset", "upload-draft-interop-version",
    ]
}
