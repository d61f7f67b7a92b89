import ArgumentParser
import PushStore

#if NATS
    import PushCluster
#endif

/// Where a gateway stores what it has: on its own disk, or with others.
struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "NATS servers of a store that several gateways share: nats://host:port,nats://host:port,…",
            discussion: "Without it, everything is in a database in the folder of the state.", valueName: "urls"))
    var store: String?

    @Option(help: "NATS servers that have each push before its 200. Fewer than three are for development.")
    var storeReplicas = 3

    @Option(help: "Streams among which devices are spread. They are fixed when the store is made.")
    var storeStreams = 4

    @Option(help: "Who signs the certificates of the NATS servers, in PEM; turns TLS on.")
    var storeAuthority: String?

    @Option(help: "The file with the gateway's NATS credentials.")
    var storeCredentials: String?

    func check() throws {
        // Passwords may be in it: it is not repeated.
        #if NATS
            guard let store, NATSSettings.servers(store) == nil else { return }
            throw ValidationError("--store is no list of nats:// or tls:// URLs.")
        #else
            guard store != nil else { return }
            throw ValidationError("This nightshift-gateway was built without NATS: --store is of no use to it.")
        #endif
    }

    /// Nil where everything is on this machine.
    func open(logLimit: Int?) async throws -> (any GatewayStore)? {
        #if NATS
            guard let servers = store.flatMap({ NATSSettings.servers($0) }) else { return nil }
            var settings = NATSSettings(
                servers: servers, replicas: storeReplicas, streams: storeStreams, logLimit: logLimit)
            settings.authority = storeAuthority
            settings.credentials = storeCredentials
            return try await NATSStore(settings)
        #else
            return nil
        #endif
    }
}
