public import Foundation
public import FoundationNetworking
import NightshiftAPI

// FoundationNetworking declares the next two constants as unavailable. The declarations here take precedence.

/// The authentication method of a challenge to evaluate a server's certificate.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

/// The authentication method of a challenge in which a server requests a client certificate.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"

/// The certificates of a server that the system does not trust. This type replaces Apple's `SecTrust`.
public struct ServerTrust: Sendable, Hashable {
    /// The certificate chain in DER, which starts with the server's own certificate.
    public let certificates: [Data]
    /// The reason why the system does not trust the server.
    public let reason: String?
}

extension URLProtectionSpace {
    /// The server's certificates in DER. The first is the server's own certificate. The value is nil for all challenges
    /// except `NSURLAuthenticationMethodServerTrust`.
    public var serverCertificates: [Data]? { serverTrust?.certificates }

    /// The server trust that the app evaluates. The value is nil for all challenges except
    /// `NSURLAuthenticationMethodServerTrust`.
    public var serverTrust: ServerTrust? { (self as? BackgroundProtectionSpace)?.trust }
}

/// A protection space with properties that FoundationNetworking's class cannot store.
final class BackgroundProtectionSpace: URLProtectionSpace, @unchecked Sendable {
    // The conformance is unchecked, because the conformance of the base class is also unchecked. The added property is
    // constant.
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
    /// Creates the challenge that the app's delegate receives, from a challenge of the service.
    ///
    /// - Parameter proposed: The credential for this space from the session's credential storage.
    convenience init(
        _ challenge: Challenge, proposed: URLCredential?, response: URLResponse?, reply: ChallengeReply
    ) {
        self.init(
            protectionSpace: BackgroundProtectionSpace(challenge), proposedCredential: proposed,
            previousFailureCount: challenge.previousFailureCount, failureResponse: response, error: nil, sender: reply)
    }
}
