import Foundation
package import NightshiftAPI
import Scheduler
package import Store

/// What a request has to fulfil to be accepted, and what it means with its session's settings filled in.
package enum RequestRules {
    /// A task that could be inserted.
    ///
    /// - Parameters:
    ///   - pointer: where the request stands in what was sent, for ``Problem/pointer``.
    ///   - copies: a task whose copies of its files to upload are this one's.
    ///   - looksAtDestination: whether the destination's file system answers, so that it may be looked at here.
    package static func record(
        _ request: TaskRequest, session: SessionID, settings: SessionSettings, now: ClockReading, pointer: String,
        copies: TaskRecord? = nil, looksAtDestination: Bool = true
    ) throws(Problem) -> TaskRecord {
        var request = request
        guard let text = request.url else {
            throw .invalid("A task needs a URL.", pointer: "\(pointer)/url", code: .badURL)
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
                throw .invalid("An upload has neither a destination nor a checksum.", pointer: pointer)
            }
            guard request.body == nil else {
                throw .invalid("An upload sends its file or form, and no other body.", pointer: "\(pointer)/body")
            }
            guard request.mirrors == nil, request.connections == nil else {
                throw .invalid("Only downloads have mirrors or several connections.", pointer: pointer)
            }
            content = try uploadContent(request, copies: copies, pointer: pointer)
        }
        let isSuspended = request.suspended ?? false
        let timeout = request.resourceTimeout ?? settings.resourceTimeout
        var record = TaskRecord(
            session: session, origin: url.origin, state: isSuspended ? .suspended : .waiting,
            priority: request.priority ?? 0.5, createdAt: now.wallSeconds, request: request)
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

    /// What becomes of `settings` as a session's: without fields that belong to connections, and with no more connections
    /// than there are. Throws where they could not serve.
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
            throw .invalid("A session has at least one connection per host.", pointer: "/httpMaximumConnectionsPerHost")
        }
        try check(timeout: settings.idleTimeout, pointer: "/idleTimeout")
        try check(timeout: settings.resourceTimeout, pointer: "/resourceTimeout")
        try check(minimumBattery: settings.minimumBattery, pointer: "/minimumBattery")
        try check(proxy: settings.proxy, pointer: "/proxy")
        try checkTLS(settings.tls, pointer: "/tls")
    }

    /// - Parameter pointer: where the change stands in the request.
    package static func check(_ change: TaskChange, pointer: String) throws(Problem) {
        try check(priority: change.priority, pointer: pointer + "/priority")
        try check(rateLimit: change.rateLimit, lowest: 0, pointer: pointer + "/rateLimit")
        try check(description: change.description, pointer: pointer + "/description")
    }

    /// The tasks that a request names: numbers begin with 1.
    package static func check(_ tasks: [TaskID]) throws(Problem) {
        guard let index = tasks.firstIndex(where: { $0.rawValue < 1 }) else { return }
        throw .invalid("A task's id is 1 or more.", pointer: "/tasks/\(index)")
    }

    package static func check(_ settings: ServiceSettings) throws(Problem) {
        try check(rateLimit: settings.rateLimit, lowest: 0, pointer: "/rateLimit")
        guard (1...256).contains(settings.maximumTransfers ?? 1) else {
            throw .invalid("Transfers at once are 1 to 256.", pointer: "/maximumTransfers")
        }
    }

    package static func check(_ session: SessionID) throws(Problem) {
        guard (1...Limits.sessionIdentifierLength).contains(session.rawValue.utf8.count),
            !session.rawValue.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f })
        else {
            throw .invalid(
                "A session's identifier has 1 to \(Limits.sessionIdentifierLength) bytes and no control characters.",
                pointer: "/session")
        }
    }

    /// A request's own field wins over its session's (Apple: httpAdditionalHeaders).
    private static func merged(_ own: [HeaderField], _ session: [HeaderField]) -> [HeaderField] {
        let names = Set(own.map { $0.name.lowercased() })
        return own + session.filter { !names.contains($0.name.lowercased()) }
    }

    private static func check(headers: [HeaderField], pointer: String) throws(Problem) {
        guard headers.count <= Limits.headerFields else {
            throw .invalid("At most \(Limits.headerFields) header fields.", pointer: pointer)
        }
        guard headers.reduce(0, { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }) <= Limits.headerBytes else {
            throw .invalid("Header fields have at most \(Limits.headerBytes) bytes together.", pointer: pointer)
        }
        for (index, field) in headers.enumerated() {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(\.isTokenCharacter) else {
                throw .invalid(
                    "'\(field.name.debugDescription)' is not a field name.", pointer: "\(pointer)/\(index)/name")
            }
            guard !field.value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }) else {
                throw .invalid("A field value holds control characters.", pointer: "\(pointer)/\(index)/value")
            }
        }
    }

    /// As URLSession has it since iOS 13: GET with a body is refused, and so is HEAD.
    private static func checkBody(_ request: TaskRequest, pointer: String) throws(Problem) {
        guard let body = request.body, !body.isEmpty else { return }
        guard !["GET", "HEAD"].contains(request.method ?? "GET") else {
            throw .invalid(
                "A \(request.method ?? "GET") request has no body.", pointer: "\(pointer)/body", code: .tooLarge)
        }
        guard body.count <= Limits.downloadBody else {
            throw .invalid(
                "A download sends at most \(Limits.downloadBody) bytes along; more is for an upload.",
                pointer: "\(pointer)/body", code: .tooLarge)
        }
    }

    private static func checkNumbers(_ request: TaskRequest, pointer: String) throws(Problem) {
        try check(priority: request.priority, pointer: "\(pointer)/priority")
        try check(rateLimit: request.rateLimit, lowest: 1, pointer: "\(pointer)/rateLimit")
        guard (1...Limits.connectionsPerTask).contains(request.connections ?? 1) else {
            throw .invalid(
                "A download has 1 to \(Limits.connectionsPerTask) connections.", pointer: "\(pointer)/connections")
        }
        try check(timeout: request.idleTimeout, pointer: "\(pointer)/idleTimeout")
        try check(timeout: request.resourceTimeout, pointer: "\(pointer)/resourceTimeout")
        for (count, name) in [
            (request.countOfBytesClientExpectsToSend, "countOfBytesClientExpectsToSend"),
            (request.countOfBytesClientExpectsToReceive, "countOfBytesClientExpectsToReceive"),
        ] where (count ?? 0) < -1 {
            throw .invalid("A count of bytes is not negative; -1 is 'not known'.", pointer: "\(pointer)/\(name)")
        }
    }

    /// The other URLs of a file as they are asked for.
    private static func mirrors(
        _ request: TaskRequest, of url: TransferURL, pointer: String
    ) throws(Problem) -> [String]? {
        guard let mirrors = request.mirrors, !mirrors.isEmpty else { return nil }
        guard request.isHarmlessElsewhere else {
            throw .invalid(
                "What \(request.method ?? "GET") sends is for one server: only downloads with GET have mirrors.",
                pointer: pointer)
        }
        guard mirrors.count <= Limits.mirrors else {
            throw .invalid("A file has at most \(Limits.mirrors) mirrors.", pointer: pointer)
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
                throw .invalid("A mirror's URL holds no name and password.", pointer: "\(pointer)/\(index)")
            }
            // Length and tag are no secret: whoever stands in between could send anything with them.
            guard mirror.isSecure || !url.isSecure || request.checksum != nil else {
                throw .invalid(
                    "An http mirror of an https file could send anything: it needs a checksum.",
                    pointer: "\(pointer)/\(index)")
            }
            if mirror.string != url.string, !known.contains(mirror.string) { known.append(mirror.string) }
        }
        return known
    }

    private static func checkTexts(_ request: TaskRequest, pointer: String) throws(Problem) {
        try check(description: request.description, pointer: "\(pointer)/description")
        try check(proxy: request.proxy, pointer: "\(pointer)/proxy")
        if let name = request.proxyVariable {
            guard !name.isEmpty, name.utf8.count <= 64, name.utf8.allSatisfy(\.isTokenCharacter) else {
                throw .invalid(
                    "A variable's name has 1 to 64 letters, digits and underscores.",
                    pointer: "\(pointer)/proxyVariable")
            }
        }
        if let method = request.method {
            guard !method.isEmpty, method.utf8.count <= 32, method.utf8.allSatisfy(\.isTokenCharacter) else {
                throw .invalid("'\(method.debugDescription)' is not an HTTP method.", pointer: "\(pointer)/method")
            }
            guard !["CONNECT", "TRACE"].contains(method.uppercased()) else {
                throw .invalid("\(method) is not for the server that has the file.", pointer: "\(pointer)/method")
            }
            guard request.kind == .download || !["GET", "HEAD"].contains(method) else {
                throw .invalid(
                    "\(method) does not carry a file; an upload's method is PUT, POST or PATCH.",
                    pointer: "\(pointer)/method", code: .tooLarge)
            }
        }
        if let credential = request.credential {
            guard !credential.user.contains(":") || credential.scheme == .digest,
                !(credential.user + credential.password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }),
                credential.user.utf8.count + credential.password.utf8.count <= 4_096
            else {
                throw .invalid(
                    "A user name has no colon, and neither it nor the password has control characters (RFC 7617).",
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
                    "A file name has 1 to 255 bytes and neither a slash nor control characters.",
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
            throw .invalid("A umask has octal digits, up to 777: \"022\".", pointer: "\(pointer)/umask")
        }
    }

    /// Whether a person may ask for this name. Leading dots, which no server may choose, are a person's right.
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
                "A \(checksum.algorithm.rawValue) has \(checksum.algorithm.hexLength) lower-case hexadecimal digits.",
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
                "The oldest version of TLS is newer than the newest one.", pointer: "\(pointer)/minimumVersion")
        }
    }

    static func check(path: String, pointer: String) throws(Problem) {
        guard path.hasPrefix("/"), path.utf8.count <= Limits.pathLength, !path.utf8.contains(0) else {
            throw .invalid("A path is absolute and has at most \(Limits.pathLength) bytes.", pointer: pointer)
        }
    }

    private static func check(priority: Double?, pointer: String) throws(Problem) {
        guard (0...1).contains(priority ?? 0) else { throw .invalid("A priority is 0 to 1.", pointer: pointer) }
    }

    private static func check(rateLimit: Int64?, lowest: Int64, pointer: String) throws(Problem) {
        guard (rateLimit ?? lowest) >= lowest else {
            throw .invalid("A rate limit is at least \(lowest) bytes per second.", pointer: pointer)
        }
    }

    private static func check(timeout: Double?, pointer: String) throws(Problem) {
        guard let timeout else { return }
        guard timeout > 0, timeout <= Limits.longestTimeout else {
            throw .invalid(
                "A timeout is more than 0 and at most \(Int(saturating: Limits.longestTimeout)) seconds.",
                pointer: pointer)
        }
    }

    private static func check(description: String?, pointer: String) throws(Problem) {
        guard (description?.utf8.count ?? 0) <= Limits.descriptionLength else {
            throw .invalid("A description has at most \(Limits.descriptionLength) bytes.", pointer: pointer)
        }
    }

    private static func check(proxy: String?, pointer: String) throws(Problem) {
        if let flaw = proxy.flatMap(ProxyAddress.flaw) { throw .invalid(flaw, pointer: pointer) }
    }
}

extension UInt8 {
    /// A character of a token (RFC 9110, section 5.6.2).
    fileprivate var isTokenCharacter: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }
}
