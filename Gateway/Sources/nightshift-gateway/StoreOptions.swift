import ArgumentParser
import PushStore

#if NATS
    import PushCluster
#endif

/// The options for the store of a gateway: on its own disk, or shared with other gateways.
struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "NATS servers of a store that several gateways share: nats://host:port,nats://host:port,…",
            discussion: "Without it, everything is stored in a database in the state folder.", valueName: "urls"))
    var store: String?

    @Option(help: "The number of NATS servers that store each push. Use fewer than three only for development.")
    var storeReplicas = 3

    @Option(help: "The number of streams for devices' pushes. It is fixed when the store is created.")
    var storeStreams = 4

    @Option(help: "The PEM file of the authority for the NATS servers' certificates. Turns TLS on.")
    var storeAuthority: String?

    @Option(help: "The file with the gateway's NATS credentials.")
    var storeCredentials: String?

    func check() throws {
        // The error does not quote the URLs, because they may contain passwords.
        #if NATS
            guard let store, NATSSettings.servers(store) == nil else { return }
            throw ValidationError("--store must be a list of nats:// or tls:// URLs.")
        #else
            guard store != nil else { return }
            throw ValidationError("This nightshift-gateway was built without NATS, so --store is not available.")
        #endif
    }

    /// Opens the shared store. Returns nil if everything is stored on this machine.
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
