import ArgumentParser
import Foundation
import NightshiftAPI

/// What `get` and `put` say about a request and how it travels.
struct TransferOptions: ParsableArguments {
    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("Send this header field, 'Name: value'. Can be repeated.", valueName: "field"),
        transform: HeaderArgument.parse)
    var headers: [HeaderField] = []

    @OptionGroup var login: UserOption

    @Option(help: ArgumentHelp("0 to 1; higher goes first. 0.5 unless given.", valueName: "number"))
    var priority: Double?

    @Option(
        help: ArgumentHelp("Bytes per second, such as 500K or 1.5M.", valueName: "rate"), transform: Rate.parse)
    var limitRate: Rate?

    @Option(
        help: ArgumentHelp("Do not begin before, such as +2h, 22:00 or 2026-11-22T06:30.", valueName: "time"),
        transform: Moment.parse)
    var notBefore: Moment?

    @Option(
        help: ArgumentHelp(
            "Give up when it is not whole after, such as 90s, 10m or 2d. 7 days unless given.",
            valueName: "duration"),
        transform: TimeSpan.parse)
    var timeout: TimeSpan?

    @Option(help: ArgumentHelp("Use this proxy; an empty one forbids any.", valueName: "url"))
    var proxy: String?

    @Option(
        help: ArgumentHelp("Trust the certificates in this PEM file, not the system's.", valueName: "file"),
        completion: .file())
    var cacert: String?

    @Option(help: ArgumentHelp("The client's certificate, a PEM file.", valueName: "file"), completion: .file())
    var cert: String?

    @Option(
        help: ArgumentHelp("The client certificate's key, where it is in a file of its own.", valueName: "file"),
        completion: .file())
    var key: String?

    func validate() throws {
        if let priority, !(0...1).contains(priority) { throw ValidationError("A priority is from 0 to 1.") }
        if let flaw = proxy.map(ProxyAddress.spelled).flatMap(ProxyAddress.flaw) {
            throw ValidationError("--proxy: \(flaw)")
        }
        if key != nil && cert == nil { throw ValidationError("--key needs --cert.") }
    }

    /// A request with everything these options say, without URL and files. May ask for a password.
    func request(_ kind: TaskKind, _ invocation: Invocation) throws -> TaskRequest {
        var request = TaskRequest(kind: kind)
        HeaderArgument.warn(about: headers, invocation.errors)
        request.headers = headers.isEmpty ? nil : headers
        request.credential = try login.credential(invocation)
        request.priority = priority
        request.rateLimit = limitRate.flatMap { $0.bytesPerSecond > 0 ? $0.bytesPerSecond : nil }
        if let notBefore {
            guard let date = notBefore.resolved(now: invocation.now(), timeZone: invocation.timeZone) else {
                throw CommandFailure.usage("There is no such day as the one in --not-before.")
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

/// What a transfer needs of power and network before it runs.
struct ConditionOptions: ParsableArguments {
    @Flag(help: "Wait for a good moment: external power or enough battery, and a network that is free.")
    var discretionary = false

    @Flag(help: "Do not use a mobile network.")
    var noCellular = false

    @Flag(help: "Do not use a network that costs by the byte.")
    var noExpensive = false

    @Flag(help: "Do not use a network that is to carry as little as possible.")
    var noConstrained = false

    @Flag(help: "Run on external power only.")
    var externalPower = false

    @Option(help: ArgumentHelp("Do not run on battery below this level, 0 to 100.", valueName: "percent"))
    var minimumBattery: Double?

    func validate() throws {
        if let minimumBattery, !(0...100).contains(minimumBattery) {
            throw ValidationError("A battery level is from 0 to 100 percent.")
        }
    }

    /// Options that are not given are left to the session.
    func apply(to request: inout TaskRequest) {
        if discretionary { request.isDiscretionary = true }
        if noCellular { request.allowsCellularAccess = false }
        if noExpensive { request.allowsExpensiveNetworkAccess = false }
        if noConstrained { request.allowsConstrainedNetworkAccess = false }
        if externalPower { request.requiresExternalPower = true }
        request.minimumBattery = minimumBattery
    }
}

/// For which app a transfer is, if for one.
struct AppOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Do it for this app: the end of the session's last transfer wakes it.", valueName: "id"),
        completion: DynamicCompletion.apps.kind)
    var app: String?

    @Option(help: ArgumentHelp("The session, as the app calls it; goes with --app.", valueName: "name"))
    var session: String?

    func validate() throws {
        if (app == nil) != (session == nil) { throw ValidationError("--app and --session go together.") }
    }
}

/// Whether a command waits for its transfers, and what it says meanwhile.
struct WatchingOptions: ParsableArguments {
    @Flag(help: "Print the ids once the tasks are on disk, and return.")
    var detach = false

    @Flag(help: "Write JSON, one object to a line, on standard output.")
    var json = false

    @Flag(name: .shortAndLong, help: "Say only what goes wrong.")
    var quiet = false
}

/// `--json` of the commands that answer with one document.
struct JSONOption: ParsableArguments {
    @Flag(help: "Write one JSON document on standard output.")
    var json = false
}
