import Foundation
package import NightshiftAPI
import Scheduler
package import Store

/// The rules for accepting a request, and the merging of its session's settings.
package enum RequestRules {
    /// Returns a task that can be inserted, made from a request.
    ///
    /// - Parameters:
    ///   - pointer: the position of the request in the received JSON, for ``Problem/pointer``.
    ///   - copies: a task whose copies of upload files are used.
    ///   - looksAtDestination: whether the destination may be checked here, because its file system responds.
    package static func record(
        _ request: TaskRequest, session: SessionID, settings: SessionSettings, now: ClockReading, pointer: String,
        copies: TaskRecord? = nil, looksAtDestination: Bool = true
    ) throws(Problem) -> TaskRecord {
        var request = request
        guard let text = request.url else {
            throw .invalid("A transfer requires a URL.", pointer: "\(pointer)/url", code: .badURL)
        }
        let url: TransferURL
        do {
            url = try TransferURL(parsing: text)
        } catch {
            throw .invalid(error.message, pointer: "\(pointer)/url", code: error.code)
        }
        request.url = url.string
        request.credential = request.credential ?? url.credential
        request.headers = RequestFields.kept(request.headers ?? [])
        try check(headers: request.headers ?? [], pointer: "\(pointer)/headers")
        request.headers = merged(request.headers ?? [], RequestFields.kept(settings.headers))
        request.idleTimeout = request.idleTimeout ?? settings.idleTimeout
        request.resourceTimeout = request.resourceTimeout ?? settings.resourceTimeout
        request.retryPolicy = request.retryPolicy ?? settings.retryPolicy
        request.failsOnHTTPError = request.failsOnHTTPError ?? settings.failsOnHTTPError
        request.yields = request.yields ?? settings.yields
        if request.proxy == nil { request.proxyVariable = nil }
        request.proxy = request.proxy ?? settings.proxy
        request.tls = request.tls?.filled(from: settings.tls) ?? settings.tls
        try checkNumbers(request, pointer: pointer)
        try check(minimumBattery: request.minimumBattery, pointer: "\(pointer)/minimumBattery")
        try checkTexts(request, pointer: pointer)
        try checkTLS(request.tls, pointer: "\(pointer)/tls")
        var content: UploadContent?
        switch request.kind {
        case .download:
            try checkNoUpload(request, pointer: pointer)
            try checkDestination(request.destination, isLookedAt: looksAtDestination, pointer: "\(pointer)/destination")
            try checkChecksum(request.checksum, pointer: "\(pointer)/checksum")
            try checkBody(request, pointer: pointer)
            request.mirrors = try mirrors(request, of: url, pointer: "\(pointer)/mirrors")
        case .upload:
            guard request.destination == nil, request.checksum == nil else {
                throw .invalid("An upload cannot have a destination or a checksum.", pointer: pointer)
            }
            guard request.body == nil else {
                throw .invalid(
                    "An upload sends its file or form. It cannot have another body.", pointer: "\(pointer)/body")
            }
            guard request.mirrors == nil, request.connections == nil else {
                throw .invalid("Only downloads can have mirrors or several connections.", pointer: pointer)
            }
            content = try uploadContent(request, copies: copies, pointer: pointer)
        }
        let isSuspended = request.suspended ?? false
        let timeout = request.resourceTimeout ?? settings.resourceTimeout
        var record = TaskRecord(
            session: session, origin: url.origin, state: isSuspended ? .suspended : .waiting,
            priority: request.priority ?? 0.5, createdAt: now.wallSeconds, request: request)
        record.clientData = request.clientData
        record.request.clientData = nil
        if looksAtDestination { record.folder = request.destination.flatMap { FolderIdentity(path: $0.directory) } }
        record.source = content?.source
        record.uploadSource = content?.files
        record.isLarge =
            (request.countOfBytesClientExpectsToReceive ?? record.sentFiles?.length ?? 0) >= Admission.largeSize
        if isSuspended { record.timeLeft = timeout } else { record.deadline = now.bootSeconds + timeout }
        record.rules = rules(request, settings)
        record.scheduleLoosening()
        if let date = request.earliestBeginDate, date.timeIntervalSince1970 > now.wallSeconds {
            record.beginAt = date.timeIntervalSince1970
        }
        return record
    }

    /// Returns the settings that are stored for a session. They contain no fields that belong to connections, and at
    /// most the possible number of connections. Throws if the settings are invalid.
    package static func accepted(_ settings: SessionSettings) throws(Problem) -> SessionSettings {
        var settings = settings
        settings.headers = RequestFields.kept(settings.headers)
        settings.httpMaximumConnectionsPerHost = min(
            settings.httpMaximumConnectionsPerHost, Limits.connectionsPerHost)
        try check(settings)
        return settings
    }

    private static func check(_ settings: SessionSettings) throws(Problem) {
        try check(headers: settings.headers, pointer: "/headers")
        guard settings.httpMaximumConnectionsPerHost >= 1 else {
            throw .invalid(
                "A session must allow at least one connection per host.", pointer: "/httpMaximumConnectionsPerHost")
        }
        try check(timeout: settings.idleTimeout, pointer: "/idleTimeout")
        try check(timeout: settings.resourceTimeout, pointer: "/resourceTimeout")
        try check(minimumBattery: settings.minimumBattery, pointer: "/minimumBattery")
        try check(proxy: settings.proxy, pointer: "/proxy")
        try checkTLS(settings.tls, pointer: "/tls")
    }

    /// Checks a change of a task.
    ///
    /// - Parameter pointer: the position of the change in the request.
    package static func check(_ change: TaskChange, pointer: String) throws(Problem) {
        try check(priority: change.priority, pointer: pointer + "/priority")
        try check(rateLimit: change.rateLimit, lowest: 0, pointer: pointer + "/rateLimit")
        try check(description: change.description, pointer: pointer + "/description")
        try Problem.check(clientData: change.clientData, pointer: pointer + "/clientData")
    }

    /// Checks the task ids of a request, which begin with 1.
    package static func check(_ tasks: [TaskID]) throws(Problem) {
        guard let index = tasks.firstIndex(where: { $0.rawValue < 1 }) else { return }
        throw .invalid("The id of a transfer must be at least 1.", pointer: "/tasks/\(index)")
    }

    package static func check(_ settings: ServiceSettings) throws(Problem) {
        try check(rateLimit: settings.rateLimit, lowest: 0, pointer: "/rateLimit")
        guard (1...Limits.runningTransfers).contains(settings.maximumTransfers ?? 1) else {
            throw .invalid(
                "The number of simultaneous transfers must be between 1 and \(Limits.runningTransfers).",
                pointer: "/maximumTransfers")
        }
    }

    package static func check(_ session: SessionID) throws(Problem) {
        guard (1...Limits.sessionIdentifierLength).contains(session.rawValue.utf8.count),
            !session.rawValue.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f })
        else {
            throw .invalid(
                "The identifier of a session must have 1 to \(Limits.sessionIdentifierLength) bytes and no "
                    + "control characters.",
                pointer: "/session")
        }
    }

    /// Returns the fields of the request and its session. The request's own fields take precedence (Apple:
    /// httpAdditionalHeaders).
    private static func merged(_ own: [HeaderField], _ session: [HeaderField]) -> [HeaderField] {
        let names = Set(own.map { $0.name.lowercased() })
        return own + session.filter { !names.contains($0.name.lowercased()) }
    }

    private static func check(headers: [HeaderField], pointer: String) throws(Problem) {
        guard headers.count <= Limits.headerFields else {
            throw .invalid("A request can have at most \(Limits.headerFields) header fields.", pointer: pointer)
        }
        guard headers.reduce(0, { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }) <= Limits.headerBytes else {
            throw .invalid("Header fields can have at most \(Limits.headerBytes) bytes together.", pointer: pointer)
        }
        for (index, field) in headers.enumerated() {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(\.isTokenCharacter) else {
                throw .invalid(
                    "'\(field.name.debugDescription)' is not a valid header field name.",
                    pointer: "\(pointer)/\(index)/name")
            }
            guard !field.value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }) else {
                throw .invalid(
                    "The value of a header field contains control characters.", pointer: "\(pointer)/\(index)/value")
            }
        }
    }

    /// Refuses GET and HEAD with a body, as URLSession does since iOS 13.
    private static func checkBody(_ request: TaskRequest, pointer: String) throws(Problem) {
        guard let body = request.body, !body.isEmpty else { return }
        guard !["GET", "HEAD"].contains(request.method ?? "GET") else {
            throw .invalid(
                "A \(request.method ?? "GET") request cannot have a body.", pointer: "\(pointer)/body", code: .tooLarge)
        }
        guard body.count <= Limits.downloadBody else {
            throw .invalid(
                "A download can send a body of at most \(Limits.downloadBody) bytes. Use an upload for more.",
                pointer: "\(pointer)/body", code: .tooLarge)
        }
    }

    private static func checkNumbers(_ request: TaskRequest, pointer: String) throws(Problem) {
        try check(priority: request.priority, pointer: "\(pointer)/priority")
        try check(rateLimit: request.rateLimit, lowest: 1, pointer: "\(pointer)/rateLimit")
        guard (1...Limits.connectionsPerTask).contains(request.connections ?? 1) else {
            throw .invalid(
                "A download can have 1 to \(Limits.connectionsPerTask) connections.", pointer: "\(pointer)/connections")
        }
        try check(timeout: request.idleTimeout, pointer: "\(pointer)/idleTimeout")
        try check(timeout: request.resourceTimeout, pointer: "\(pointer)/resourceTimeout")
        for (count, name) in [
            (request.countOfBytesClientExpectsToSend, "countOfBytesClientExpectsToSend"),
            (request.countOfBytesClientExpectsToReceive, "countOfBytesClientExpectsToReceive"),
        ] where (count ?? 0) < -1 {
            throw .invalid(
                "A count of bytes cannot be negative, except -1 for 'unknown'.", pointer: "\(pointer)/\(name)")
        }
    }

    /// Returns the mirror URLs of a file, in normalised form.
    private static func mirrors(
        _ request: TaskRequest, of url: TransferURL, pointer: String
    ) throws(Problem) -> [String]? {
        guard let mirrors = request.mirrors, !mirrors.isEmpty else { return nil }
        guard request.isHarmlessElsewhere else {
            throw .invalid(
                "A \(request.method ?? "GET") request is meant for one server. Only GET downloads can have mirrors.",
                pointer: pointer)
        }
        guard mirrors.count <= Limits.mirrors else {
            throw .invalid("A file can have at most \(Limits.mirrors) mirrors.", pointer: pointer)
        }
        var known: [String] = []
        for (index, text) in mirrors.enumerated() {
            let mirror: TransferURL
            do {
                mirror = try TransferURL(parsing: text)
            } catch {
                throw .invalid(error.message, pointer: "\(pointer)/\(index)")
            }
            guard mirror.credential == nil else {
                throw .invalid(
                    "The URL of a mirror cannot contain a user name or password.", pointer: "\(pointer)/\(index)")
            }
            // The length and the entity tag are not secret, so an attacker on the network could send any content with
            // them.
            guard mirror.isSecure || !url.isSecure || request.checksum != nil else {
                throw .invalid(
                    "An http mirror of an https file could send any content. Add a checksum, or use an https mirror.",
                    pointer: "\(pointer)/\(index)")
            }
            if mirror.string != url.string, !known.contains(mirror.string) { known.append(mirror.string) }
        }
        return known
    }

    private static func checkTexts(_ request: TaskRequest, pointer: String) throws(Problem) {
        try check(description: request.description, pointer: "\(pointer)/description")
        try Problem.check(clientData: request.clientData, pointer: "\(pointer)/clientData")
        try check(proxy: request.proxy, pointer: "\(pointer)/proxy")
        if let name = request.proxyVariable {
            guard !name.isEmpty, name.utf8.count <= 64, name.utf8.allSatisfy(\.isTokenCharacter) else {
                throw .invalid(
                    "The name of a variable must have 1 to 64 letters, digits and underscores.",
                    pointer: "\(pointer)/proxyVariable")
            }
        }
        if let method = request.method {
            guard !method.isEmpty, method.utf8.count <= 32, method.utf8.allSatisfy(\.isTokenCharacter) else {
                throw .invalid("'\(method.debugDescription)' is not a valid HTTP method.", pointer: "\(pointer)/method")
            }
            guard !["CONNECT", "TRACE"].contains(method.uppercased()) else {
                throw .invalid("The method \(method) cannot be used for a transfer.", pointer: "\(pointer)/method")
            }
            guard request.kind == .download || !["GET", "HEAD"].contains(method) else {
                throw .invalid(
                    "\(method) cannot send a file. Use PUT, POST or PATCH for an upload.",
                    pointer: "\(pointer)/method", code: .tooLarge)
            }
        }
        if let credential = request.credential {
            guard !credential.user.contains(":") || credential.scheme == .digest,
                !(credential.user + credential.password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }),
                credential.user.utf8.count + credential.password.utf8.count <= 4_096
            else {
                throw .invalid(
                    "A user name cannot contain a colon, and neither it nor the password can contain control "
                        + "characters (RFC 7617).",
                    pointer: "\(pointer)/credential")
            }
        }
    }

    private static func checkDestination(
        _ destination: Destination?, isLookedAt: Bool, pointer: String
    ) throws(Problem) {
        guard let destination else { return }
        try check(path: destination.directory, pointer: "\(pointer)/directory")
        if let name = destination.filename {
            guard FileName.sanitize(name) == name || isPlain(name) else {
                throw .invalid(
                    "A file name must have 1 to 255 bytes, and neither a slash nor control characters.",
                    pointer: "\(pointer)/filename")
            }
            if isLookedAt,
                let failure = ReplacedFile.obstacle(
                    at: "\(destination.directory)/\(name)", overwrite: destination.overwrite ?? false)
            {
                throw .invalid(failure.message, pointer: "\(pointer)/filename")
            }
        }
        guard destination.umask == nil || destination.mask != nil else {
            throw .invalid("A umask must have octal digits, up to 777, such as \"022\".", pointer: "\(pointer)/umask")
        }
    }

    /// Returns whether a person may choose this name. People may use leading dots, but servers may not.
    private static func isPlain(_ name: String) -> Bool {
        name != "." && name != ".." && (1...255).contains(name.utf8.count)
            && !name.unicodeScalars.contains { $0 == "/" || $0.value < 0x20 || $0.value == 0x7f }
    }

    private static func checkChecksum(_ checksum: Checksum?, pointer: String) throws(Problem) {
        guard let checksum else { return }
        guard checksum.hex.utf8.count == checksum.algorithm.hexLength,
            checksum.hex.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else {
            throw .invalid(
                "A \(checksum.algorithm.rawValue) must have \(checksum.algorithm.hexLength) lower-case "
                    + "hexadecimal digits.",
                pointer: "\(pointer)/hex")
        }
    }

    private static func checkTLS(_ tls: TLSSettings?, pointer: String) throws(Problem) {
        for (path, name) in [
            (tls?.certificateAuthority, "certificateAuthority"), (tls?.clientCertificate, "clientCertificate"),
            (tls?.clientKey, "clientKey"),
        ] {
            if let path { try check(path: path, pointer: "\(pointer)/\(name)") }
        }
        guard tls?.minimumVersion != .tls13 || tls?.maximumVersion != .tls12 else {
            throw .invalid(
                "The minimum version of TLS is newer than the maximum version.", pointer: "\(pointer)/minimumVersion")
        }
    }

    static func check(path: String, pointer: String) throws(Problem) {
        guard path.hasPrefix("/"), path.utf8.count <= Limits.pathLength, !path.utf8.contains(0) else {
            throw .invalid("A path must be absolute and can have at most \(Limits.pathLength) bytes.", pointer: pointer)
        }
    }

    private static func check(priority: Double?, pointer: String) throws(Problem) {
        guard (0...1).contains(priority ?? 0) else {
            throw .invalid("A priority must be between 0 and 1.", pointer: pointer)
        }
    }

    private static func check(rateLimit: Int64?, lowest: Int64, pointer: String) throws(Problem) {
        guard (rateLimit ?? lowest) >= lowest else {
            throw .invalid("A rate limit must be at least \(lowest) bytes per second.", pointer: pointer)
        }
    }

    private static func check(timeout: Double?, pointer: String) throws(Problem) {
        guard let timeout else { return }
        guard timeout > 0, timeout <= Limits.longestTimeout else {
            throw .invalid(
                "A timeout must be more than 0 and at most \(Int(saturating: Limits.longestTimeout)) seconds.",
                pointer: pointer)
        }
    }

    private static func check(description: String?, pointer: String) throws(Problem) {
        guard (description?.utf8.count ?? 0) <= Limits.descriptionLength else {
            throw .invalid("A description can have at most \(Limits.descriptionLength) bytes.", pointer: pointer)
        }
    }

    private static func check(proxy: String?, pointer: String) throws(Problem) {
        if let flaw = proxy.flatMap(ProxyAddress.flaw) { throw .invalid(flaw, pointer: pointer) }
    }
}

extension UInt8 {
    /// Whether this is a character of a token (RFC 9110, section 5.6.2).
    fileprivate var isTokenCharacter: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }
}
