package import NightshiftAPI

/// What a response of the 3xx class leads to.
package enum Redirect: Hashable, Sendable {
    /// `sameOrigin` compares with the address that redirected.
    case follow(url: String, method: String, keepsBody: Bool, sameOrigin: Bool)
    /// The response is final.
    case none
    case refuse(TransferFailure)
}

/// Which redirects are followed, and what goes along.
package enum RedirectPolicy {
    /// Decides where a response leads (RFC 9110, section 15.4; methods as browsers do).
    ///
    /// 300, 304, 305, 306 and responses without `Location` are final. A user name or password in `Location` is neither used
    /// nor kept: an origin must not choose the credentials that are shown to another. A redirect from https to http is
    /// refused, because what was asked for in private would be sent in the open.
    ///
    /// - Parameters:
    ///   - url: the absolute URL that answered.
    ///   - hop: how many redirects were followed before this one.
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
                    .redirectRefused, "The server redirected to an address that cannot be used: \(error.message)",
                    status: status))
        }
        if base.isSecure, !target.isSecure {
            return .refuse(
                TransferFailure(
                    .redirectRefused,
                    "The server redirected from https to http, which anyone on the way can read and change. "
                        + "If that is wanted, ask for the http address itself: \(target.string)",
                    status: status))
        }
        let nextMethod = self.method(after: status, method)
        return .follow(
            url: target.string, method: nextMethod, keepsBody: nextMethod == method && status != 303,
            sameOrigin: target.origin == base.origin)
    }

    /// The fields that go along to where a redirect leads.
    ///
    /// To another origin no secret goes, nor a `Host` that names the old one. The caller passes the result on from hop to
    /// hop, so that what was dropped once never comes back. Without a body no field that describes one goes.
    package static func headers(
        _ headers: [HeaderField], sameOrigin: Bool, keepsBody: Bool = true
    ) -> [HeaderField] {
        headers.filter { field in
            let name = field.name.lowercased()
            if !sameOrigin, name == "host" || field.isSecret || soundsSecret(name) { return false }
            return keepsBody || !bodyFields.contains(name)
        }
    }

    private static func method(after status: Int, _ method: String) -> String {
        switch status {
        case 301, 302: method == "POST" ? "GET" : method
        case 303: method == "HEAD" ? "HEAD" : "GET"
        default: method
        }
    }

    /// Services name their keys as they like (`PRIVATE-TOKEN`, `X-Goog-Api-Key`). A field lost on the way to another
    /// origin costs less than a secret given away.
    private static func soundsSecret(_ name: String) -> Bool {
        ["auth", "cookie", "credential", "key", "password", "secret", "session", "signature", "token"].contains {
            name.contains($0)
        }
    }

    private static let bodyFields: Set<String> = [
        "content-encoding", "content-language", "content-length", "content-location", "content-type", "content-digest",
        "repr-digest", "transfer-encoding", "expect", "upload-complete", "upload-incomplete", "upload-length",
        "upload-offset", "upload-draft-interop-version",
    ]
}
