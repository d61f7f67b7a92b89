public import Foundation
public import FoundationNetworking
import NightshiftAPI

// FoundationNetworking has both names and makes them unavailable; declared here they are found instead.

/// A server's certificate is to be judged.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

/// A server wants the client's certificate.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"

/// What a server shows of itself, where the system does not trust it: in place of Apple's `SecTrust`.
public struct ServerTrust: Sendable, Hashable {
    /// The chain in DER, the server's own certificate first.
    public let certificates: [Data]
    /// Why the system does not trust it.
    public let reason: String?
}

extension URLProtectionSpace {
    /// The server's certificates in DER, its own first; nil unless the challenge is `NSURLAuthenticationMethodServerTrust`.
    public var serverCertificates: [Data]? { serverTrust?.certificates }

    /// What is to be judged; nil unless the challenge is `NSURLAuthenticationMethodServerTrust`.
    public var serverTrust: ServerTrust? { (self as? BackgroundProtectionSpace)?.trust }
}

/// A protection space with what FoundationNetworking's own has no room for.
final class BackgroundProtectionSpace: URLProtectionSpace, @unchecked Sendable {
    // Unchecked as its base class is: what is added is constant.
    let trust: ServerTrust?

    init(_ challenge: Challenge) {
        trust =
            challenge.method == .serverTrust
            ? ServerTrust(
                certificates: (challenge.certificates ?? []).compactMap { Data(base64Encoded: $0) },
                reason: challenge.reason)
            : nil
        if challenge.isProxy {
            super.init(
                proxyHost: challenge.host, port: challenge.port,
                type: challenge.scheme == "https" ? NSURLProtectionSpaceHTTPSProxy : NSURLProtectionSpaceHTTPProxy,
                realm: challenge.realm, authenticationMethod: challenge.method.name)
        } else {
            super.init(
                host: challenge.host, port: challenge.port, protocol: challenge.scheme, realm: challenge.realm,
                authenticationMethod: challenge.method.name)
        }
    }
}

extension Challenge.Method {
    var name: String {
        switch self {
        case .basic: NSURLAuthenticationMethodHTTPBasic
        case .digest: NSURLAuthenticationMethodHTTPDigest
        case .clientCertificate: NSURLAuthenticationMethodClientCertificate
        case .serverTrust: NSURLAuthenticationMethodServerTrust
        }
    }
}

extension URLAuthenticationChallenge {
    /// - Parameter proposed: what the session's credential storage has for it.
    convenience init(
        _ challenge: Challenge, proposed: URLCredential?, response: URLResponse?, reply: ChallengeReply
    ) {
        self.init(
            protectionSpace: BackgroundProtectionSpace(challenge), proposedCredential: proposed,
            previousFailureCount: challenge.previousFailureCount, failureResponse: response, error: nil, sender: reply)
    }
}
