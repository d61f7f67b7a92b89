import Foundation
import FoundationNetworking
import Synchronization

/// An object that accepts the reply to one challenge. The reply can be given only once, through the completion handler
/// or through the challenge's sender.
final class ChallengeReply: NSObject, URLAuthenticationChallengeSender, Sendable {
    private struct State {
        var send: (@Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)?
    }

    private let state: Mutex<State>

    init(_ send: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void) {
        state = Mutex(State(send: send))
    }

    func resolve(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?) {
        let send = state.withLock { state in
            defer { state.send = nil }
            return state.send
        }
        send?(disposition, credential)
    }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        resolve(.useCredential, credential)
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {
        resolve(.performDefaultHandling, nil)
    }

    func cancel(_ challenge: URLAuthenticationChallenge) {
        resolve(.cancelAuthenticationChallenge, nil)
    }

    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
        resolve(.performDefaultHandling, nil)
    }

    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        resolve(.rejectProtectionSpace, nil)
    }
}
