import ArgumentParser
import Dispatch
import Foundation
import Glibc
import Logging
import PushGateway
import PushRouting
import PushStore

extension KeyRecord.Environment: ExpressibleByArgument {}

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Runs the gateway until it is told to stop.")

    @OptionGroup var places: PlaceOptions
    @OptionGroup var shared: StoreOptions

    @Option(help: "The certificate chain, in PEM. Read again when it changes.")
    var certificate: String

    @Option(help: "The certificate's key, in PEM.")
    var key: String

    @Option(help: "The folder of the database. By default systemd's for the service.")
    var state: String?

    @Option(help: "Where providers are heard, over HTTP/2 and TLS: a port, or address:port.")
    var providers = "2197"

    @Option(help: "Where devices are heard.")
    var devices = "5223"

    @Option(help: "Where metrics and health are told, over plain HTTP.")
    var status = "127.0.0.1:9464"

    @Option(help: "Where providers are heard without TLS, for development: a port of 127.0.0.1.")
    var plainProviders: Int?

    @Option(help: "Who signs providers' certificates, in PEM; turns certificate authentication on.")
    var providerAuthority: String?

    @Option(help: "Whose keys and certificates are taken: production, development or any.")
    var environment = KeyRecord.Environment.production

    @Option(help: "The name by which devices reach the gateway.")
    var publicName: String?

    @Option(help: "The URL by which senders reach the providers' port: endpoints of UnifiedPush begin with it.")
    var publicURL: String?

    @Option(help: "Silent pushes of one app that pass to one device in an hour.")
    var silentPerHour: Double = 2

    @Option(help: "Requests in a second for one device token; a burst may have a hundred times as many.")
    var requestRate: Double = 100

    @Option(help: "Messages in a second for one endpoint of UnifiedPush; a burst may have a hundred times as many.")
    var endpointRate: Double = 2

    @Option(help: "Entries of the delivery log.")
    var logLimit = 1_000_000

    @Flag(help: "Keeps payloads in the delivery log.")
    var logPayloads = false

    @Option(help: "Seconds for which a provider may be silent.")
    var providerIdle = 3_600

    @Option(help: "Seconds within which a request that has begun has to come whole.")
    var bodyPatience = 30

    @Option(
        help: "Errors more than successes after which a provider has one stream, and at twice as many is disconnected.")
    var errorLimit = 100

    func validate() throws {
        guard silentPerHour > 0, requestRate > 0, endpointRate > 0 else { throw ValidationError("A rate is above 0.") }
        guard logLimit > 0, providerIdle > 0, bodyPatience > 0, errorLimit > 0 else {
            throw ValidationError("A limit is above 0.")
        }
        try shared.check()
    }

    func run() async throws {
        LoggingSystem.bootstrap(StreamLogHandler.standardError)
        var logger = Logger(label: "nightshift-gateway")
        logger.logLevel = .info
        // A connection needs one each.
        DescriptorLimit.raise()
        let (gateway, ports) = try await start(logger)
        let plain = ports.plainProviders.map { " plain=\($0)" } ?? ""
        let line =
            "nightshift-gateway: providers=\(ports.providers)\(plain) devices=\(ports.devices) status=\(ports.status)\n"
        try? FileHandle.standardOutput.write(contentsOf: Data(line.utf8))
        let (signals, sources) = Self.stopSignals()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await gateway.maintain() }
            group.addTask { for await _ in signals { break } }
            // Either ends the program: the signal as asked, maintenance by the error that it throws.
            try await group.next()
            group.cancelAll()
        }
        for source in sources { source.cancel() }
        logger.notice("The gateway is shutting down.")
        try await gateway.stop()
    }

    /// `EX_CONFIG` of sysexits.h: another start fails in the same way. The unit does not restart after it.
    private static let configurationError: Int32 = 78

    private func start(_ logger: Logger) async throws -> (Gateway, Gateway.Ports) {
        do {
            let settings = try settings()
            try GatewayChecks.files(of: settings)
            let store = try await shared.open(logLimit: logLimit)
            let gateway = try await Gateway(settings: settings, shared: store, logger: logger)
            return (gateway, try await gateway.start())
        } catch let error as GatewayError where error.isPermanent {
            try? FileHandle.standardError.write(contentsOf: Data("Error: \(error)\n".utf8))
            throw ExitCode(Self.configurationError)
        }
    }

    private func settings() throws -> GatewaySettings {
        let state = self.state ?? PlaceOptions.variable("STATE_DIRECTORY") ?? PlaceOptions.defaultState
        var settings = GatewaySettings(
            state: state, socket: places.socketPath(state: state), certificate: certificate, privateKey: key)
        settings.providers = try Self.address(providers, "::")
        settings.devices = try Self.address(devices, "::")
        settings.status = try Self.address(status, "127.0.0.1")
        settings.plainProviders = plainProviders.map { GatewaySettings.Address(host: "127.0.0.1", port: $0) }
        settings.providerAuthority = providerAuthority
        settings.environment = environment
        settings.publicName = publicName ?? ProcessInfo.processInfo.hostName
        settings.publicURL = try publicURL.map(Self.publicURL)
        settings.messages = TokenBucket.Settings(capacity: max(1, endpointRate * 100), interval: 1 / endpointRate)
        settings.silent = TokenBucket.Settings(capacity: max(1, silentPerHour), interval: 3_600 / silentPerHour)
        settings.requests = TokenBucket.Settings(capacity: max(1, requestRate * 100), interval: 1 / requestRate)
        settings.conduct = ProviderConduct.Settings(slowFrom: errorLimit, endFrom: errorLimit * 2)
        settings.isLoggingPayloads = logPayloads
        settings.logLimit = logLimit
        settings.providerIdle = providerIdle
        settings.bodyPatience = bodyPatience
        return settings
    }

    /// Without slashes at its end. An endpoint has at most a thousand bytes, and so much is taken by the token.
    private static func publicURL(_ text: String) throws -> String {
        var url = text[...]
        while url.hasSuffix("/") { url = url.dropLast() }
        let scheme = ["https://", "http://"].first { url.lowercased().hasPrefix($0) }
        let rest = scheme.map { url.dropFirst($0.count) } ?? ""
        guard !rest.isEmpty, url.utf8.count <= 512,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        else { throw ValidationError("'\(text)' is no URL of a server: https://push.example.org") }
        return String(url)
    }

    private static func address(_ text: String, _ host: String) throws -> GatewaySettings.Address {
        guard let address = GatewaySettings.Address(text, defaultHost: host) else {
            throw ValidationError("'\(text)' is no port, and no address:port.")
        }
        return address
    }

    /// One element for each request to stop.
    private static func stopSignals() -> (AsyncStream<Void>, [any DispatchSourceSignal]) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
        return (stream, sources)
    }
}
