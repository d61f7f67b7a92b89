/// The token authentication of one provider connection: age, renewal, team and key.
///
/// Pure. The signature has been checked before.
package struct ProviderSession: Sendable, Hashable {
    /// What a provider's token says, its signature being good.
    package struct Token: Sendable, Hashable {
        package var key: String
        package var team: String
        /// Seconds since 1970.
        package var issuedAt: Int64
        /// The first second at which it is no longer good, where it names one (RFC 7519, section 4.1.4).
        package var expiresAt: Int64?
        /// The first second at which it is good, where it names one (RFC 7519, section 4.1.5).
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

    /// Seconds for which a token is good.
    package static let lifetime: Int64 = 3_600
    /// Seconds that lie at least between a token and the one that follows it.
    package static let renewalInterval: Int64 = 1_200
    /// Seconds by which a provider's clock may be ahead.
    package static let clockSkew: Int64 = 60

    private var token: Token?
    private var isUnusable = false

    package init() {}

    /// Nil where the provider may send with `token` on this connection.
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

/// How well a provider's connection behaves, and what that costs it.
///
/// Pure. Errors count up, successes down; a token that was unregistered (410) is no error of its provider.
package struct ProviderConduct: Sendable, Hashable {
    package struct Settings: Sendable, Hashable {
        /// Errors more than successes from which on there is one stream at a time.
        package var slowFrom: Int
        /// From which on the connection is ended.
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
