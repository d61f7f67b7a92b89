import Foundation
import FoundationNetworking
import Synchronization

/// The answer to one challenge, given once, by the completion handler or through the challenge's sender.
final class ChallengeReply: NSObject, URLAuthenticationChallengeSender, Sendable {
    private let send: Mutex<(@Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)?>

    init(_ send: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void) {
        self.send = Mutex(send)
    }

    func give(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?) {
        let send = send.withLock { send in
            defer { send = nil }
            return send
        }
        send?(disposition, credential)
    }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        give(.useCredential, credential)
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {
        give(.performDefaultHandling, nil)
    }

    func cancel(_ challenge: URLAuthenticationChallenge) {
        give(.cancelAuthenticationChallenge, nil)
    }

    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
        give(.performDefaultHandling, nil)
    }

    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        give(.rejectProtectionSpace, nil)
    }
}
