import ArgumentParser
import CSystemd
import Dispatch
import Foundation
import Glibc
import Logging
import PushGateway
import PushRouting
import PushStore
import ServiceLog

extension KeyRecord.Environment: ExpressibleByArgument {}

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Runs the gateway until it receives SIGTERM or SIGINT.")

    @OptionGroup var places: PlaceOptions
    @OptionGroup var shared: StoreOptions

    @Option(help: "The PEM file of the certificate chain. It is read again when it changes.")
    var certificate: String

    @Option(help: "The PEM file of the certificate's key.")
    var key: String

    @Option(help: "The state folder, with the database. Default: systemd's state folder for the service.")
    var state: String?

    @Option(help: "The port, or address:port, for providers over HTTP/2 and TLS.")
    var providers = "2197"

    @Option(help: "The port, or address:port, for devices.")
    var devices = "5223"

    @Option(help: "The port, or address:port, for metrics and health checks over plain HTTP.")
    var status = "127.0.0.1:9464"

    @Option(help: "A port of 127.0.0.1 for providers without TLS, for development.")
    var plainProviders: Int?

    @Option(help: "The PEM file of the authority for providers' certificates. Turns certificate authentication on.")
    var providerAuthority: String?

    @Option(help: "The environment whose keys and certificates are accepted: production, development or any.")
    var environment = KeyRecord.Environment.production

    @Option(help: "The host name under which devices reach the gateway.")
    var publicName: String?

    @Option(help: "The base URL of UnifiedPush endpoints, under which senders reach the providers' port.")
    var publicURL: String?

    @Option(help: "The rate limit on silent pushes of one app to one device, per hour.")
    var silentPerHour: Double = 2

    @Option(help: "The limit on requests per second for one device token. A burst may be a hundred times as large.")
    var requestRate: Double = 100

    @Option(
        help: "The limit on messages per second for one UnifiedPush endpoint. A burst may be a hundred times as large.")
    var endpointRate: Double = 2

    @Option(help: "The maximum number of entries in the delivery log.")
    var logLimit = 1_000_000

    @Flag(help: "Stores payloads in the delivery log.")
    var logPayloads = false

    @Option(help: "Seconds after which an idle provider is disconnected.")
    var providerIdle = 3_600

    @Option(help: "Time limit for the arrival of a complete request, in seconds.")
    var bodyTimeout = 30

    @Option(
        help: """
            The excess of errors over successes that limits a provider to one stream. Twice this excess disconnects \
            the provider.
            """)
    var errorLimit = 100

    func validate() throws {
        let numbers = [
            ("--silent-per-hour", silentPerHour), ("--request-rate", requestRate), ("--endpoint-rate", endpointRate),
            ("--log-limit", Double(logLimit)), ("--provider-idle", Double(providerIdle)),
            ("--body-timeout", Double(bodyTimeout)), ("--error-limit", Double(errorLimit)),
        ]
        for (option, number) in numbers where !(number > 0) {
            throw ValidationError("\(option) must be above 0.")
        }
        try shared.check()
    }

    func run() async throws {
        ServiceLog.bootstrap()
        var logger = Logger(label: "nightshift-gateway")
        logger.logLevel = .info
        // Each connection needs a descriptor, so raise the limit.
        DescriptorLimit.raise()
        let (gateway, ports) = try await start(logger)
        let plain = ports.plainProviders.map { " plain=\($0)" } ?? ""
        let line =
            "nightshift-gateway: providers=\(ports.providers)\(plain) devices=\(ports.devices) status=\(ports.status)\n"
        try? FileHandle.standardOutput.write(contentsOf: Data(line.utf8))
        sd_notify(0, "READY=1")
        let (signals, sources) = Self.stopSignals()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await gateway.maintain() }
            group.addTask { for await _ in signals { break } }
            // The first result ends the program: a signal stops it as requested, and an error in the maintenance
            // stops it.
            try await group.next()
            group.cancelAll()
        }
        for source in sources { source.cancel() }
        sd_notify(0, "STOPPING=1")
        logger.notice("The gateway is shutting down.")
        try await gateway.stop()
    }

    /// The exit status `EX_CONFIG` of sysexits.h: every further start would fail with the same error. systemd does not
    /// restart the service after it.
    private static let configurationError: Int32 = 78

    private func start(_ logger: Logger) async throws -> (Gateway, Gateway.Ports) {
        do {
            let settings = try settings()
            try GatewayChecks.files(of: settings)
            let store = try await shared.open(logLimit: logLimit)
            let gateway = try await Gateway(settings: settings, shared: store, logger: logger)
            return (gateway, try await gateway.start())
        } catch let error as GatewayError where error.isPermanent {
            ServiceLog.fail("Error: \(error)")
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
        settings.bodyTimeout = bodyTimeout
        return settings
    }

    /// Checks a URL, and removes the slashes at its end. The URL may have 512 bytes, because an endpoint has at most
    /// 1,000 bytes, including the token.
    private static func publicURL(_ text: String) throws -> String {
        var url = text[...]
        while url.hasSuffix("/") { url = url.dropLast() }
        let scheme = ["https://", "http://"].first { url.lowercased().hasPrefix($0) }
        let rest = scheme.map { url.dropFirst($0.count) } ?? ""
        guard !rest.isEmpty, url.utf8.count <= 512,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        else { throw ValidationError("'\(text)' is not the URL of a server, such as https://push.example.org") }
        return String(url)
    }

    private static func address(_ text: String, _ host: String) throws -> GatewaySettings.Address {
        guard let address = GatewaySettings.Address(text, defaultHost: host) else {
            throw ValidationError("'\(text)' is not a port or address:port. Write 8443 or 127.0.0.1:8443, for example.")
        }
        return address
    }

    /// Returns a stream with one element for each SIGTERM or SIGINT.
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
