import Foundation
package import NightshiftAPI
import Sessions
import Store

/// The network settings of tasks that have none of their own.
package struct NetworkFallback: Sendable {
    package var proxy: String?
    /// The proxy variables of the service, which are used if ``proxy`` is nil.
    package var proxyVariables: ProxyVariables
    package var tls: TLSSettings?

    package init(proxy: String? = nil, proxyVariables: ProxyVariables = .none, tls: TLSSettings? = nil) {
        self.proxy = proxy
        self.proxyVariables = proxy == nil ? proxyVariables : .none
        self.tls = tls
    }

    /// Returns the proxy for a URL; empty or nil for no proxy.
    package func proxy(for url: String) -> String? { proxy ?? proxyVariables.proxy(for: url) }

    /// Returns the route of tasks to an origin.
    ///
    /// - Parameter proxy: the address of the tasks' own proxy; nil for the service's.
    package func way(to origin: String, proxy: String?) -> HostTable.Way {
        HostTable.Way(origin: origin, proxy: proxy ?? self.proxy(for: origin).map { ProxyAddress($0).url })
    }

    /// The names of the environment variables that set the proxies.
    package var variables: [String] {
        proxy == nil ? proxyVariables.hasProxy ? proxyVariables.names : [] : ["NIGHTSHIFT_PROXY"]
    }

    /// Returns a request for a task, without the fields of its exchange.
    func request(for record: TaskRecord) -> WireRequest {
        let asked = record.request
        var request = WireRequest(
            url: asked.url ?? "", method: record.method, headers: asked.headers ?? [],
            idleTimeout: asked.idleTimeout ?? 60)
        request.credential = asked.credential
        request.proxy = asked.proxy ?? proxy
        request.proxyVariable = asked.proxy == nil ? proxy.map { _ in "NIGHTSHIFT_PROXY" } : asked.proxyVariable
        request.proxyVariables = proxyVariables
        request.tls = asked.tls?.filled(from: tls) ?? tls
        request.rateLimit = asked.rateLimit
        request.handlesCookies = record.sendsRedirectCookies
        if let body = asked.body, !body.isEmpty {
            request.body = UploadBody([.bytes(Array(body))], meter: ByteMeter())
        }
        return request
    }
}

extension WireRequest {
    /// Adds the app's earlier answers to challenges, as far as the exchange can use these answers.
    ///
    /// - Returns: the credentials and certificates that each server receives or may use, by ``Challenge/origin``.
    mutating func add(_ answers: ChallengeAnswers, of record: TaskRecord) -> [String: OriginAnswer] {
        guard record.app != nil else { return [:] }
        // The library in the app decides how to use these cookies.
        notesCookies = true
        asksAbout = answers.asksAbout(record.id)
        if let answer = answers.byOrigin[record.origin] {
            credential = answer.credential ?? credential
            trustedCertificates = answer.trustedCertificates
            if let certificate = answer.clientCertificate {
                var tls = tls ?? TLSSettings()
                tls.clientCertificate = certificate
                tls.clientKey = answer.clientKey
                self.tls = tls
            }
        }
        answersElsewhere = answers.byOrigin
        if let proxy, let origin = Challenge.origin(ofProxy: proxy),
            let credential = answers.byOrigin[origin]?.credential
        {
            let words = [credential.user, credential.password].map {
                $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            }
            self.proxy = ProxyAddress(proxy).url(userinfo: words.joined(separator: ":"))
        }
        var shown = answers.byOrigin
        // The exchange also sends the task's own credential.
        shown[record.origin, default: OriginAnswer()].credential = credential
        return shown
    }

    /// Turns this into a request of an upload.
    mutating func apply(_ request: UploadRequest) {
        method = request.method
        headers = request.headers
        self = moved(to: request.url, isTrusted: request.sharesSecrets)
    }
}
