import NightshiftAPI
import Sessions

/// The parts of a request besides its URL and body. All of them were given for one origin.
///
/// This type is the only rule for what is sent to another origin. Redirects, mirrors, upload resources, new addresses
/// from the owner, resume data and delayed requests use it through ``WireRequest/moved(to:)`` and
/// ``NightshiftAPI/TaskRequest/moved(to:)``.
struct Introduction: Hashable, Sendable {
    var headers: [HeaderField]
    var credential: Credential?
    var tls: TLSSettings?
    var trustedCertificates: Set<String> = []

    /// Returns the parts that are sent to another origin: header fields that are known to be harmless, and the app's
    /// answers to challenges of that origin.
    ///
    /// The certificate authority stays: it decides which servers are trusted, and reveals nothing.
    func atAnotherOrigin(_ answer: OriginAnswer? = nil) -> Introduction {
        var authority = tls
        authority?.clientCertificate = nil
        authority?.clientKey = nil
        if let certificate = answer?.clientCertificate {
            authority = authority ?? TLSSettings()
            authority?.clientCertificate = certificate
            authority?.clientKey = answer?.clientKey
        }
        return Introduction(
            headers: headers.filter(\.isHarmless), credential: answer?.credential, tls: authority,
            trustedCertificates: answer?.trustedCertificates ?? [])
    }
}

extension WireRequest {
    /// Returns the same request for another URL. Parts that were removed are not restored if a later redirect leads
    /// back to the first origin.
    package func moved(to url: String) -> WireRequest {
        moved(to: url, isTrusted: TransferURL.areOfOneOrigin(self.url, url))
    }

    /// Returns the same request for another URL.
    ///
    /// - Parameter isTrusted: whether the source of the URL may decide where secrets are sent.
    func moved(to url: String, isTrusted: Bool) -> WireRequest {
        var request = self
        request.url = url
        guard !isTrusted else { return request }
        let answer = (try? TransferURL(parsing: url)).flatMap { answersElsewhere[$0.origin] }
        let moved = Introduction(
            headers: headers, credential: credential, tls: tls, trustedCertificates: trustedCertificates
        ).atAnotherOrigin(answer)
        request.headers = moved.headers
        request.credential = moved.credential
        request.tls = moved.tls
        request.trustedCertificates = moved.trustedCertificates
        return request
    }
}

extension TaskRequest {
    /// The name and password in the URL of the task.
    var ownCredential: Credential? {
        url.flatMap { try? TransferURL(parsing: $0) }?.credential
    }

    /// Whether the same request may be sent to another origin. Methods other than GET and HEAD, and their bodies, were
    /// meant for the original origin. The file of an upload is meant for any origin that its owner names.
    var isHarmlessElsewhere: Bool { kind == .upload || ["GET", "HEAD"].contains(method ?? "GET") }

    /// Returns the same task for an address that its owner names. Nil keeps the current address.
    func moved(to address: String?) -> TaskRequest {
        var request = self
        guard let address else { return request }
        request.url = address
        guard !TransferURL.areOfOneOrigin(url ?? "", address) else { return request }
        let moved = Introduction(headers: headers ?? [], credential: credential, tls: tls).atAnotherOrigin()
        request.headers = headers == nil ? nil : moved.headers
        request.credential = nil
        request.tls = moved.tls
        if !isHarmlessElsewhere {
            request.method = nil
            request.body = nil
        }
        return request
    }
}

extension SessionSettings {
    /// Returns the session's settings for a task that has left the origin for which it was accepted.
    ///
    /// A new task gets all of the settings at any address, because its owner chose the settings and the address
    /// together.
    func forTask(of origin: String, movedTo address: String?) -> SessionSettings {
        guard let address, !TransferURL.areOfOneOrigin(origin, address) else { return self }
        let moved = Introduction(headers: headers, credential: nil, tls: tls).atAnotherOrigin()
        var settings = self
        settings.headers = moved.headers
        settings.tls = moved.tls
        return settings
    }
}
