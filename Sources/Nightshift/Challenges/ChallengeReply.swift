import Foundation
import FoundationNetworking
import Synchronization

/// The answer to one challenge, given once, by the completion handler or through the challenge's sender.
final class ChallengeReply: NSObject, URLAuthenticationChallengeSender, Sendable {
    private let send: Mutex<(@Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)?>

    init(_ send: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void) {
        self.send = Mutex(send)
    }

    func resolve(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?) {
        let send = send.withLock { send in
            defer { send = nil }
            return send
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
