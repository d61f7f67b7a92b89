import Foundation
import Nightshift

extension ProbeSession: URLSessionDelayedRequestDelegate {
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note(.sessionChallenge, nil, challenge)
        answer(challenge, completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note(.challenge, task, challenge)
        _ = conduct.deeds(at: .challenged, task: task)
        answer(challenge, completionHandler)
    }

    private func note(_ event: Sighting.Event, _ task: URLSessionTask?, _ challenge: URLAuthenticationChallenge) {
        let space = challenge.protectionSpace
        note(event, task) { sighting in
            sighting.text = space.realm
            sighting.code = challenge.previousFailureCount
            sighting.space = Sighting.ProtectionSpace(
                method: space.authenticationMethod, host: space.host, port: space.port, scheme: space.protocol,
                certificates: space.serverTrust?.certificates)
        }
    }

    private func answer(
        _ challenge: URLAuthenticationChallenge,
        _ completionHandler: (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        switch conduct.orders.answer {
        case .credential:
            let credential = credential(for: challenge.protectionSpace)
            completionHandler(credential == nil ? .performDefaultHandling : .useCredential, credential)
        case .reject: completionHandler(.rejectProtectionSpace, nil)
        case .cancel: completionHandler(.cancelAuthenticationChallenge, nil)
        case .default: completionHandler(.performDefaultHandling, nil)
        case .never: break
        }
    }

    private func credential(for space: URLProtectionSpace) -> URLCredential? {
        let orders = conduct.orders
        switch space.authenticationMethod {
        case NSURLAuthenticationMethodServerTrust:
            return space.serverTrust.map { URLCredential(trust: $0) }
        case NSURLAuthenticationMethodClientCertificate:
            return orders.clientCertificate.map { file in
                .clientCertificate(
                    file: URL(filePath: file), keyFile: orders.clientKey.map { URL(filePath: $0) })
            }
        default:
            return URLCredential(user: orders.user, password: orders.password, persistence: .forSession)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @Sendable @escaping (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        note(.delayed, task) { $0.text = request.url?.absoluteString }
        _ = conduct.deeds(at: .delayed, task: task)
        switch conduct.orders.delayed {
        case .proceed: completionHandler(.continueLoading, nil)
        case .replace:
            let url = conduct.orders.replacement.flatMap { URL(string: $0) }
            completionHandler(.useNewRequest, url.map { URLRequest(url: $0) })
        case .cancel: completionHandler(.cancel, nil)
        case .never: break
        }
    }
}
