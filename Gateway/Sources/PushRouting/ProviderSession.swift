/// The token authentication of one provider connection: age, renewal, team and key.
///
/// A pure value. The caller has already verified the signatures of the tokens.
package struct ProviderSession: Sendable, Hashable {
    /// The claims of a provider token with a valid signature.
    package struct Token: Sendable, Hashable {
        package var key: String
        package var team: String
        /// The time of issue, in seconds since 1970.
        package var issuedAt: Int64
        /// The first second at which the token is no longer valid; nil if the token has no such claim (RFC 7519,
        /// section 4.1.4).
        package var expiresAt: Int64?
        /// The first second at which the token is valid; nil if the token has no such claim (RFC 7519, section 4.1.5).
        package var notBefore: Int64?

        package init(
            key: String, team: String, issuedAt: Int64, expiresAt: Int64? = nil, notBefore: Int64? = nil
        ) {
            self.key = key
            self.team = team
            self.issuedAt = issuedAt
            self.expiresAt = expiresAt
            self.notBefore = notBefore
        }
    }

    /// The time for which a token is valid, in seconds.
    package static let lifetime: Int64 = 3_600
    /// The minimum time between the issue of a token and the issue of its successor, in seconds.
    package static let renewalInterval: Int64 = 1_200
    /// The time by which a provider's clock may be ahead, in seconds.
    package static let clockSkew: Int64 = 60

    private var token: Token?
    private var isUnusable = false

    package init() {}

    /// Returns the reason for which the provider may not send with the token `next` on this connection; nil if it may.
    package mutating func judge(_ next: Token, now: Int64) -> Rejection? {
        if isUnusable { return .tooManyProviderTokenUpdates }
        guard max(next.issuedAt, next.notBefore ?? .min) <= now + Self.clockSkew else { return .invalidProviderToken }
        guard next.issuedAt >= now - Self.lifetime, next.expiresAt ?? .max > now else { return .expiredProviderToken }
        if let token, token != next {
            guard token.team == next.team else { return .invalidProviderToken }
            guard token.key == next.key else { return .unrelatedKeyIdInToken }
            guard abs(next.issuedAt - token.issuedAt) >= Self.renewalInterval else {
                isUnusable = true
                return .tooManyProviderTokenUpdates
            }
        }
        token = next
        return nil
    }

    package var isAuthenticated: Bool { token != nil }
}

/// The balance of errors and successes on a provider's connection, and the limits that follow from it.
///
/// A pure value. Each error adds one to the balance, and each success subtracts one. A push to an unregistered token
/// (410) is not counted as an error.
package struct ProviderConduct: Sendable, Hashable {
    package struct Settings: Sendable, Hashable {
        /// The balance at which the connection is limited to one stream at a time. The limit ends at half of this
        /// balance.
        package var slowFrom: Int
        /// The balance at which the connection is closed.
        package var endFrom: Int

        package init(slowFrom: Int, endFrom: Int) {
            self.slowFrom = slowFrom
            self.endFrom = endFrom
        }

        package static let standard = Settings(slowFrom: 100, endFrom: 200)
    }

    package enum Verdict: Sendable, Hashable {
        case unchanged
        case slow
        case restore
        case end
    }

    private var score = 0
    private var isSlow = false

    package init() {}

    package mutating func answered(_ status: Int, _ settings: Settings) -> Verdict {
        switch status {
        case 200..<300: score = max(0, score - 1)
        case 400..<500 where status != 410: score += 1
        default: break
        }
        if score >= settings.endFrom { return .end }
        if !isSlow, score >= settings.slowFrom {
            isSlow = true
            return .slow
        }
        if isSlow, score <= settings.slowFrom / 2 {
            isSlow = false
            return .restore
        }
        return .unchanged
    }
}
