import JWTKit
import PushGateway
import PushRouting
import PushStore
import Testing

@Suite struct DirectoryTests {
    /// The claims in a provider's token.
    struct Claims: JWTPayload {
        var iss: String
        var iat: Int

        func verify(using key: some JWTAlgorithm) throws {}
    }

    /// Claims whose time is written as text, as some libraries write it.
    struct TextClaims: JWTPayload {
        var iss: String
        var iat: String

        func verify(using key: some JWTAlgorithm) throws {}
    }

    /// Claims with an expiry.
    struct EndingClaims: JWTPayload {
        var iss = "TEAM000001"
        var iat = 77
        var exp: Double

        func verify(using key: some JWTAlgorithm) throws {}
    }

    static let key = ES256PrivateKey()

    static func directory(environment: KeyRecord.Environment = .any) async throws -> (Directory, PushStore) {
        let store = try PushStore(inMemory: ())
        try await store.write { transaction in
            try transaction.addTeam("TEAM000001", name: "Example", at: 1)
            try transaction.addKey(
                KeyRecord(
                    id: "KEY0000001", team: "TEAM000001", environment: environment,
                    publicKey: key.publicKey.pemRepresentation, createdAt: 1))
        }
        return (try await Directory(store: store), store)
    }

    static func sign(
        _ claims: some JWTPayload, with key: ES256PrivateKey = Self.key, kid: String = "KEY0000001"
    ) async throws -> String {
        let keys = await JWTKeyCollection().add(ecdsa: key, kid: JWKIdentifier(string: kid))
        return try await keys.sign(claims, kid: JWKIdentifier(string: kid))
    }

    @Test func `R5: The directory verifies a valid token with the token's key, and remembers the token`() async throws {
        let (directory, _) = try await Self.directory()
        let text = try await Self.sign(Claims(iss: "TEAM000001", iat: 77))
        let expected = ProviderSession.Token(key: "KEY0000001", team: "TEAM000001", issuedAt: 77)
        #expect(directory.verified(text) == nil)
        #expect(await directory.verify(text, environment: .production) == .success(expected))
        #expect(directory.verified(text) == expected)
    }

    @Test func `R5, B7: The directory accepts a claim whose time is written as text`() async throws {
        let (directory, _) = try await Self.directory()
        let text = try await Self.sign(TextClaims(iss: "TEAM000001", iat: "77"))
        let verdict = await directory.verify(text, environment: .production)
        #expect(try verdict.get().issuedAt == 77)
        let wrong = try await Self.sign(TextClaims(iss: "TEAM000001", iat: "soon"))
        #expect(await directory.verify(wrong, environment: .production) == .failure(.invalidProviderToken))
    }

    @Test func `R5: The directory remembers the expiry that a token contains`() async throws {
        let (directory, _) = try await Self.directory()
        let text = try await Self.sign(EndingClaims(exp: 99.5))
        #expect(try await directory.verify(text, environment: .production).get().expiresAt == 99)
        #expect(directory.verified(text)?.expiresAt == 99)
    }

    @Test func `R5: The directory refuses a token with a critical extension`() async throws {
        let (directory, _) = try await Self.directory()
        let kid = JWKIdentifier(string: "KEY0000001")
        let keys = await JWTKeyCollection().add(ecdsa: Self.key, kid: kid)
        let header: JWTHeader = ["crit": .array([.string("b64")]), "b64": .bool(false)]
        let text = try await keys.sign(Claims(iss: "TEAM000001", iat: 77), kid: kid, header: header)
        #expect(await directory.verify(text, environment: .production) == .failure(.invalidProviderToken))
    }

    @Test func `R5: The directory refuses a token of another team, key or signer`() async throws {
        let (directory, _) = try await Self.directory()
        let texts = [
            try await Self.sign(Claims(iss: "TEAM000002", iat: 77)),
            try await Self.sign(Claims(iss: "TEAM000001", iat: 77), kid: "KEY0000002"),
            try await Self.sign(Claims(iss: "TEAM000001", iat: 77), with: ES256PrivateKey()),
            "", "a.b.c", "....",
        ]
        for text in texts {
            #expect(await directory.verify(text, environment: .production) == .failure(.invalidProviderToken))
            #expect(directory.verified(text) == nil)
        }
    }

    @Test func `R5: The directory forgets the tokens of a key that is revoked`() async throws {
        let (directory, store) = try await Self.directory()
        let text = try await Self.sign(Claims(iss: "TEAM000001", iat: 77))
        _ = await directory.verify(text, environment: .production)
        try await store.write { try $0.revokeKey("KEY0000001", at: 2) }
        try await directory.reload()
        #expect(directory.verified(text) == nil)
        #expect(await directory.verify(text, environment: .production) == .failure(.invalidProviderToken))
    }

    @Test func `R5: A key is valid only in its own environment`() async throws {
        let (directory, _) = try await Self.directory(environment: .development)
        let text = try await Self.sign(Claims(iss: "TEAM000001", iat: 77))
        #expect(await directory.verify(text, environment: .production) == .failure(.badEnvironmentKeyIdInToken))
        #expect(try await directory.verify(text, environment: .development).get().team == "TEAM000001")
    }
}
