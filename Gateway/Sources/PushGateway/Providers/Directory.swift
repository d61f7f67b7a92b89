import Foundation
package import JWTKit
package import PushRouting
package import PushStore
import Synchronization

/// The teams, keys, topics and device tokens that are needed to check every push. They are read from the store once,
/// and again after changes.
package final class Directory: Sendable {
    package struct Key: Sendable {
        package var record: KeyRecord
        package var publicKey: ES256PublicKey
    }

    private struct State {
        var teams: [String: TeamRecord] = [:]
        var keys: [String: Key] = [:]
        var topics: [String: TopicRecord] = [:]
        var tokens: [String: TokenRecord] = [:]
        /// The provider tokens whose signature was verified.
        var verified: [String: ProviderSession.Token] = [:]
        /// The number of changes so far. A value that was read from the store before a change is not remembered after
        /// the change.
        var generation = 0
    }

    /// The maximum number of remembered device tokens. Other tokens are read from the store each time.
    private static let tokenLimit = 200_000
    private static let verifiedLimit = 10_000

    private let store: any GatewayStore
    private let state = Mutex(State())

    package init(store: any GatewayStore) async throws(StoreError) {
        self.store = store
        try await reload()
    }

    /// Reads teams, keys and topics again.
    package func reload() async throws(StoreError) {
        let records = try await store.providers()
        state.withLock { state in
            state.teams = Dictionary(records.teams.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
            state.topics = Dictionary(records.topics.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
            state.keys = [:]
            for record in records.keys where record.revokedAt == nil {
                guard let key = try? ES256PublicKey(pem: record.publicKey) else { continue }
                state.keys[record.id] = Key(record: record, publicKey: key)
            }
            // A key may have been removed, so verify all provider tokens again.
            state.verified = [:]
        }
    }

    package func key(_ id: String) -> Key? { state.withLock { $0.keys[id] } }
    package func topic(_ name: String) -> TopicRecord? { state.withLock { $0.topics[name] } }

    /// Returns whether the team is registered and not suspended.
    package func mayPush(team: String) -> Bool {
        state.withLock { state in state.teams[team].map { $0.suspendedAt == nil } ?? false }
    }

    // MARK: - Device tokens

    package func known(_ token: String) -> TokenRecord? { state.withLock { $0.tokens[token] } }

    /// Returns a token, which is read from the store if it is not remembered; nil if the token does not exist.
    package func token(_ token: String) async throws(StoreError) -> TokenRecord? {
        let generation = state.withLock { $0.generation }
        let record = try await store.token(token)
        state.withLock { state in
            guard let record, state.generation == generation else { return }
            if state.tokens.count >= Self.tokenLimit { state.tokens = [:] }
            state.tokens[token] = record
        }
        return record
    }

    /// Discards all remembered tokens, because any of them may have changed.
    package func forgetTokens() {
        state.withLock { state in
            state.generation += 1
            state.tokens = [:]
        }
    }

    /// Discards these remembered tokens, because they have changed.
    package func forget(_ tokens: some Sequence<String>) {
        state.withLock { state in
            state.generation += 1
            for token in tokens { state.tokens[token] = nil }
        }
    }

    // MARK: - Providers' tokens

    private struct Claims: JWTPayload {
        var iss: String
        /// The time of issue, in seconds since 1970.
        var iat: Int64
        var exp: Int64?
        var nbf: Int64?

        enum CodingKeys: CodingKey {
            case iss, iat, exp, nbf
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            iss = try container.decode(String.self, forKey: .iss)
            iat = try Self.seconds(container, .iat)
            exp = container.contains(.exp) ? try Self.seconds(container, .exp) : nil
            nbf = container.contains(.nbf) ? try Self.seconds(container, .nbf) : nil
        }

        /// Decodes a time and drops the fraction of a second.
        private static func seconds(_ container: KeyedDecodingContainer<CodingKeys>, _ key: CodingKeys) throws -> Int64
        {
            // Some provider libraries write the number as text, which APNs accepts.
            let text = try? container.decode(String.self, forKey: key)
            let number = try text.map { Double($0) } ?? container.decode(Double.self, forKey: key)
            guard let number, let seconds = Int64(exactly: number.rounded(.down)) else {
                throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "not a time")
            }
            return seconds
        }

        func verify(using key: some JWTAlgorithm) throws {}
    }

    package func verified(_ token: String) -> ProviderSession.Token? { state.withLock { $0.verified[token] } }

    /// Checks the signature of a provider's token.
    package func verify(_ token: String, environment: KeyRecord.Environment) async -> Result<
        ProviderSession.Token, Rejection
    > {
        guard let parsed = try? DefaultJWTParser().parse(Array(token.utf8), as: Claims.self),
            // The gateway supports no JWS extension, so it refuses a token with critical ones (RFC 7515, section
            // 4.1.11).
            parsed.header.fields["crit"] == nil,
            parsed.header.alg == "ES256", let name = parsed.header.kid, name.count == 10, let key = key(name),
            key.record.team == parsed.payload.iss
        else { return .failure(.invalidProviderToken) }
        let keys = await JWTKeyCollection().add(ecdsa: key.publicKey, kid: JWKIdentifier(string: name))
        guard (try? await keys.verify(token, as: Claims.self)) != nil else { return .failure(.invalidProviderToken) }
        guard key.record.environment == .any || key.record.environment == environment else {
            return .failure(.badEnvironmentKeyIdInToken)
        }
        let claims = parsed.payload
        let verified = ProviderSession.Token(
            key: name, team: key.record.team, issuedAt: claims.iat, expiresAt: claims.exp, notBefore: claims.nbf)
        state.withLock { state in
            // The key may have been revoked in the meantime. Then do not remember the token.
            guard state.keys[name]?.record == key.record else { return }
            if state.verified.count >= Self.verifiedLimit { state.verified = [:] }
            state.verified[token] = verified
        }
        return .success(verified)
    }
}
