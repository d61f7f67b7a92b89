import Foundation
import PushStore
import Testing

@testable import PushCluster

@Suite(.serialized, .timeLimit(.minutes(20))) struct ClusterFormingTests {
    @Test(arguments: [
        (#"{"code":400,"err_code":10005,"description":"no suitable peers for placement"}"#, true),
        (#"{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}"#, true),
        (#"{"code":500,"err_code":10074,"description":"replicas > 1 not supported in non-clustered mode"}"#, false),
        (#"{"code":400,"err_code":10058,"description":"stream name already in use"}"#, false),
    ])
    func `R5: The store retries a temporary failure of JetStream until the failure is over`(
        text: String, isTemporary: Bool
    ) throws {
        let failure = try JetStream.decoder.decode(JetStream.Failure.self, from: Data(text.utf8))
        #expect(failure.isTemporary == isTemporary)
        if isTemporary { #expect(failure.error.code == .unavailable) }
    }

    @Test func `R5: The store waits for servers that have not found one another yet`() async throws {
        // Two of three servers run, so there is a leader, but no server for the third replica.
        let servers = try NATSServers(3, started: 2)
        var reason = ""
        // At first the servers refuse connections, or have no leader yet.
        while !reason.contains("no suitable peers") {
            let error = await #expect(throws: StoreError.self) {
                try await NATSStore(NATSSettings(servers: servers.urls, replicas: 3, streams: 2))
            }
            reason = error?.message ?? ""
            try #require(error?.code == .unavailable, "\(reason)")
        }
        try servers.startNext()
        let store = try await servers.store(replicas: 3)
        #expect(try await store.providers().teams.isEmpty)
        try await store.close()
    }
}
