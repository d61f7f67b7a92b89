import NightshiftAPI
import Sessions

/// The parts of a request besides its address and body, all of which were given for one origin.
///
/// This is the one rule for what goes along to another origin. Redirects, mirrors, upload resources, new addresses that the
/// owner names, resume data and delayed requests come here, through ``WireRequest/moved(to:)`` and
/// ``NightshiftAPI/TaskRequest/moved(to:)``.
struct Introduction: Hashable, Sendable {
    var headers: [HeaderField]
    var credential: Credential?
    var tls: TLSSettings?
    var trustedCertificates: Set<String> = []

    /// The parts that another origin gets: fields that are known to be harmless, and the app's answers to that origin itself.
    ///
    /// The certificate authority stays: it says whom to believe, and tells nobody anything.
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
    /// The same request at another address. What was lost on the way does not come back where the way leads home again.
    package func moved(to url: String) -> WireRequest {
        moved(to: url, isTrusted: TransferURL.areOfOneOrigin(self.url, url))
    }

    /// - Parameter isTrusted: whether whoever named the address may say where secrets go.
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
    /// The name and password in its address.
    var ownCredential: Credential? {
        url.flatMap { try? TransferURL(parsing: $0) }?.credential
    }

    /// Whether another origin may be asked in the same way. Any other method than these, and the body it sends, were meant for the
    /// origin that they were given for. What an upload sends is the file that its owner wants there.
    var isHarmlessElsewhere: Bool { kind == .upload || ["GET", "HEAD"].contains(method ?? "GET") }

    /// The same task at an address that its owner names: nil is the one it has.
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
    /// The settings that a session still gives to a task that has left the origin for which it was accepted.
    ///
    /// A new task gets all of it, whatever its address: its owner names both together.
    func forTask(of origin: String, movedTo address: String?) -> SessionSettings {
        guard let address, !TransferURL.areOfOneOrigin(origin, address) else { return self }
        let moved = Introduction(headers: headers, credential: nil, tls: tls).atAnotherOrigin()
        var settings = self
        settings.headers = moved.headers
        settings.tls = moved.tls
        return settings
    }
}
