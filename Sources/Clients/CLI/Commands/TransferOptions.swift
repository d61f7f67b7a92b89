import ArgumentParser
import Foundation
import NightshiftAPI

/// The options of `get` and `put` about the request, the proxy, the schedule and TLS.
struct TransferOptions: ParsableArguments {
    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("Send this header field, 'Name: value'. Can be repeated.", valueName: "field"),
        transform: HeaderArgument.parse)
    var headers: [HeaderField] = []

    @OptionGroup var login: UserOption

    @Option(
        help: ArgumentHelp(
            "From 0 to 1. Transfers with a higher priority start first. The default is 0.5.", valueName: "number"))
    var priority: Double?

    @Option(
        help: ArgumentHelp("The maximum rate in bytes per second, such as 500K or 1.5M.", valueName: "rate"),
        transform: Rate.parse)
    var limitRate: Rate?

    @Flag(
        inversion: .prefixedNo,
        help:
            "Leave the line to other traffic, and use what is left. By default, those with --discretionary or a priority below 0.5 do, and what nightshift limit --yield decides."
    )
    var yield: Bool?

    @Option(
        help: ArgumentHelp("Do not start before this time, such as +2h, 22:00 or 2026-11-22T06:30.", valueName: "time"),
        transform: TimeArgument.parse)
    var notBefore: TimeArgument?

    @Option(
        help: ArgumentHelp(
            "Fail if the transfer has not completed after this time, such as 90s, 10m or 2d. The default is 7 days.",
            valueName: "duration"),
        transform: TimeSpan.parse)
    var timeout: TimeSpan?

    @Option(help: ArgumentHelp("Use this proxy, or none if the value is empty.", valueName: "url"))
    var proxy: String?

    @Option(
        help: ArgumentHelp(
            "Trust the certificates in this PEM file instead of the system's.", valueName: "file"),
        completion: .file())
    var cacert: String?

    @Option(help: ArgumentHelp("A PEM file with the client certificate.", valueName: "file"), completion: .file())
    var cert: String?

    @Option(
        help: ArgumentHelp(
            "A PEM file with the key of the client certificate, if it is not in the same file.", valueName: "file"),
        completion: .file())
    var key: String?

    func validate() throws {
        if let priority, !(0...1).contains(priority) { throw ValidationError("--priority must be from 0 to 1.") }
        if let flaw = proxy.map(ProxyAddress.spelled).flatMap(ProxyAddress.flaw) {
            throw ValidationError("--proxy: \(flaw)")
        }
        if key != nil && cert == nil { throw ValidationError("--key needs --cert.") }
    }

    /// Returns a request with the values of these options, but without a URL and files. This may ask the user for a
    /// password.
    func request(_ kind: TaskKind, _ invocation: Invocation) throws -> TaskRequest {
        var request = TaskRequest(kind: kind)
        HeaderArgument.warn(about: headers, invocation.errors)
        request.headers = headers.isEmpty ? nil : headers
        request.credential = try login.credential(invocation)
        request.priority = priority
        request.rateLimit = limitRate.flatMap { $0.bytesPerSecond > 0 ? $0.bytesPerSecond : nil }
        request.yields = yield
        if let notBefore {
            guard let date = notBefore.resolved(now: invocation.now(), timeZone: invocation.timeZone) else {
                throw CommandFailure.usage("The date in --not-before does not exist.")
            }
            request.earliestBeginDate = date
        }
        request.resourceTimeout = timeout?.seconds
        request.proxy = proxy.map(ProxyAddress.spelled)
        request.retryPolicy = .transientResponses
        request.failsOnHTTPError = true
        if cacert != nil || cert != nil {
            request.tls = TLSSettings(
                certificateAuthority: try readable(cacert, invocation),
                clientCertificate: try readable(cert, invocation), clientKey: try readable(key, invocation))
        }
        return request
    }

    private func readable(_ path: String?, _ invocation: Invocation) throws -> String? {
        guard let path = try path.map({ try invocation.absolute($0) }) else { return nil }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw CommandFailure.failed("\(path) cannot be read.")
        }
        return path
    }
}

/// The options that say which power and which network a transfer requires.
struct ConditionOptions: ParsableArguments {
    @Flag(help: "Wait for good conditions: external power or enough battery, and an unmetered network.")
    var discretionary = false

    @Flag(help: "Do not use a cellular network.")
    var noCellular = false

    @Flag(help: "Do not use a metered network.")
    var noExpensive = false

    @Flag(help: "Do not use a network on which data saver is on.")
    var noConstrained = false

    @Flag(help: "Run only on external power.")
    var externalPower = false

    @Option(help: ArgumentHelp("Do not run on battery below this level, from 0 to 100.", valueName: "percent"))
    var minimumBattery: Double?

    func validate() throws {
        if let minimumBattery, !(0...100).contains(minimumBattery) {
            throw ValidationError("--minimum-battery must be from 0 to 100.")
        }
    }

    /// Sets the values of the options that are given. For the others, the settings of the session apply.
    func apply(to request: inout TaskRequest) {
        if discretionary { request.isDiscretionary = true }
        if noCellular { request.allowsCellularAccess = false }
        if noExpensive { request.allowsExpensiveNetworkAccess = false }
        if noConstrained { request.allowsConstrainedNetworkAccess = false }
        if externalPower { request.requiresExternalPower = true }
        request.minimumBattery = minimumBattery
    }
}

/// The options that name the app and the session of a transfer.
struct AppOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Transfer for this app, which is woken when the last transfer of the session ends.", valueName: "id"),
        completion: DynamicCompletion.apps.kind)
    var app: String?

    @Option(help: ArgumentHelp("With --app: the name of the session, as the app uses it.", valueName: "name"))
    var session: String?

    func validate() throws {
        if (app == nil) != (session == nil) { throw ValidationError("--app and --session must be used together.") }
    }
}

/// The options that select whether a command waits, and what it prints.
struct WatchingOptions: ParsableArguments {
    @Flag(help: "Print the transfer numbers once the service has accepted the transfers, and return.")
    var detach = false

    @Flag(help: "Write JSON to standard output, one object per line.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print only errors.")
    var quiet = false
}

/// The option `--json` for commands that print one document.
struct JSONOption: ParsableArguments {
    @Flag(help: "Write one JSON document to standard output.")
    var json = false
}
