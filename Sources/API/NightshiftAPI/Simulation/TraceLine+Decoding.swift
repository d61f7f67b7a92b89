import Foundation

extension TraceLine: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case at, trace, device, bytesPerSecond, request, host, app, declare, use, task, transfer, submit, refresh
        case region, location, end
    }

    package init(from decoder: any Decoder) throws {
        let line = try TraceObject(decoder, keys: CodingKeys.self)
        settings = try line.object(.trace)
        guard let moment: TraceMoment = try line.object(.at) ?? (settings == nil ? nil : TraceMoment(seconds: 0)) else {
            throw TraceMistake("'at' is missing; it is the number of seconds since the start of the trace")
        }
        at = moment.seconds
        if let values: TracedConditions = try line.object(.device) { device = values.conditions }
        bytesPerSecond = try line.number(.bytesPerSecond, in: 1...1e12)
        request = try line.word(.request, as: TracedRequest.self)?.phase
        host = try line.object(.host)
        app = try line.text(.app, limit: 255).map(AppID.init(rawValue:))
        behaviour = try line.object(.declare)
        use = try line.word(.use, as: AppUse.self)
        task = try line.object(.task)
        transfer = try line.object(.transfer)
        submit = try line.object(.submit)
        refresh = try line.object(.refresh)
        region = try line.object(.region)
        location = try line.object(.location)
        isEnd = try line.truth(.end) ?? false
        try check()
    }

    /// Checks that the line contains exactly one event. The order of events is then the order of lines.
    private func check() throws {
        let things = [
            settings == nil ? nil : "trace", device == nil && bytesPerSecond == nil ? nil : "device",
            request == nil ? nil : "request", host == nil ? nil : "host", behaviour == nil ? nil : "declare",
            use == nil ? nil : "use",
            task == nil ? nil : "task", transfer == nil ? nil : "transfer", submit == nil ? nil : "submit",
            refresh == nil ? nil : "refresh", region == nil ? nil : "region", location == nil ? nil : "location",
            isEnd ? "end" : nil,
        ].compactMap(\.self)
        guard let thing = things.first else {
            throw TraceMistake("the line has no event; it needs one of \(Self.things)")
        }
        guard things.count == 1 else {
            throw TraceMistake("the line has several events (\(things.joined(separator: ", "))); use a line for each")
        }
        let isAboutApp =
            behaviour != nil || use != nil || task != nil || submit != nil || refresh?.isAboutApp == true
            || region != nil || location != nil
        if isAboutApp, app == nil { throw TraceMistake("'\(thing)' needs 'app'") }
        if let app, app.rawValue.isEmpty { throw TraceMistake("'app' must be an app id, such as org.example.Photos") }
        if app != nil, refresh?.isAboutDevice == true {
            throw TraceMistake("'dailyEnergy' and 'dailyBytes' apply to the device; leave 'app' out")
        }
        if app != nil, !isAboutApp, transfer == nil, refresh == nil {
            throw TraceMistake("'\(thing)' does not apply to an app; leave 'app' out")
        }
        if settings != nil, at != 0 { throw TraceMistake("'trace' is only allowed at the start, where 'at' is 0") }
    }

    private static let things =
        "trace, device, bytesPerSecond, request, host, declare, use, task, transfer, submit, refresh, region, location, end"
}

/// A request to doze, as written in a trace.
private enum TracedRequest: String, CaseIterable {
    case doze
    case window
    case wake

    var phase: DozePhase {
        switch self {
        case .doze: .dozing
        case .window: .window
        case .wake: .awake
        }
    }
}

/// The conditions of a line in their text forms.
private struct TracedConditions: Decodable {
    var conditions: [DeviceKey: String] = [:]

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: TraceKey.self)
        var probe = DeviceConditions()
        // The keys are sorted so that the same one of several errors is always reported.
        for name in container.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
            guard let key = DeviceKey(rawValue: name.stringValue) else {
                throw TraceMistake.unknown(name.stringValue, among: DeviceKey.allCases.map(\.rawValue), in: "'device'")
            }
            let text = try container.decode(TraceText.self, forKey: name).text
            guard let text, probe.set(key, to: text) else {
                // The message never repeats a location, even an invalid one, because errors are logged.
                let what = key == .location ? "this" : "'\(text ?? "an object")'"
                throw TraceMistake("\(key.rawValue) must be \(key.grammar), not \(what)")
            }
            conditions[key] = text
        }
        guard !conditions.isEmpty else { throw TraceMistake("'device' must contain at least one condition") }
    }
}

extension TraceSettings: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case start, policy, lead, transfers
    }

    package init(from decoder: any Decoder) throws {
        let settings = try TraceObject(decoder, keys: CodingKeys.self)
        if let text = try settings.text(.start, limit: 64) {
            guard let date = Timestamp.date(text) else {
                throw TraceMistake("'start' must be a time such as 2026-01-05T00:00:00Z, not '\(text)'")
            }
            start = date.timeIntervalSince1970
        }
        if let policy = try settings.policy(.policy) { backgroundPolicy = policy }
        if let lead = try settings.number(.lead, in: DeviceSettings.leadAllowed) { expirationLead = lead }
        maximumTransfers = try settings.whole(.transfers, in: 1...Int64(Limits.runningTransfers)).map { Int($0) }
    }
}

extension AppBehaviour: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case policy, launch, enterBackground, wake, expiration, endsTasks
        case interval, result, fetch, fetchBytes, processing, located
    }

    package init(from decoder: any Decoder) throws {
        let app = try TraceObject(decoder, keys: CodingKeys.self)
        backgroundPolicy = try app.policy(.policy)
        if let seconds = try app.number(.launch, in: 0...86_400) { launch = seconds }
        if let seconds = try app.number(.enterBackground, in: 0...86_400) { enterBackground = seconds }
        if let seconds = try app.number(.wake, in: 0...86_400) { wake = seconds }
        if let seconds = try app.number(.expiration, in: 0...86_400) { expiration = seconds }
        if let ends = try app.truth(.endsTasks) { endsTasks = ends }
        fetchInterval = try app.interval(.interval)
        if let result = try app.word(.result, as: RefreshResult.self) { refreshResult = result }
        if let seconds = try app.number(.fetch, in: 0...86_400) { fetch = seconds }
        if let bytes = try app.whole(.fetchBytes, in: 0...(1 << 50)) { fetchBytes = bytes }
        if let seconds = try app.number(.processing, in: 0...86_400) { processing = seconds }
        if let seconds = try app.number(.located, in: 0...86_400) { located = seconds }
    }
}

extension TracedHost: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case name, fails, retryAfter
    }

    /// A kind of failure of a host, as written in a trace.
    private enum Word: String, CaseIterable {
        case no, unreachable, busy, missing, lost

        func failing(_ retryAfter: Double?) -> Failing? {
            switch self {
            case .no: nil
            case .unreachable: .unreachable
            case .busy: .busy(retryAfter: retryAfter)
            case .missing: .missing
            case .lost: .lost
            }
        }
    }

    package init(from decoder: any Decoder) throws {
        let host = try TraceObject(decoder, keys: CodingKeys.self)
        guard let name = try host.text(.name, limit: 255), !name.isEmpty else {
            throw TraceMistake("'host' needs 'name', the host name that transfers use, such as example.org")
        }
        guard let word = try host.word(.fails, as: Word.self) else {
            throw TraceMistake("'host' needs 'fails', which says how the host fails, or that it no longer fails")
        }
        let retryAfter = try host.number(.retryAfter, in: 0...86_400)
        guard retryAfter == nil || word == .busy else {
            throw TraceMistake("'retryAfter' is only allowed together with \"fails\": \"busy\"")
        }
        self.init(name: name, failing: word.failing(retryAfter))
    }
}

extension TracedTask: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case name, seconds
    }

    package init(from decoder: any Decoder) throws {
        let task = try TraceObject(decoder, keys: CodingKeys.self)
        name = try task.text(.name, limit: Limits.backgroundTaskNameLength) ?? "task"
        guard let seconds = try task.number(.seconds, in: 0...31_536_000) else {
            throw TraceMistake("'task' needs 'seconds', the duration of its work")
        }
        self.seconds = seconds
    }
}

extension TracedTransfer: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case session, host, bytes, count, priority, timeout, wakes
        case discretionary, cellular, expensive, constrained, externalPower, minimumBattery
    }

    package init(from decoder: any Decoder) throws {
        let transfer = try TraceObject(decoder, keys: CodingKeys.self)
        session = try transfer.text(.session, limit: Limits.sessionIdentifierLength) ?? session
        host = try transfer.text(.host, limit: 255) ?? host
        guard let bytes = try transfer.whole(.bytes, in: 0...(1 << 50)) else {
            throw TraceMistake("'transfer' needs 'bytes', its size")
        }
        self.bytes = bytes
        if let count = try transfer.whole(.count, in: 1...Int64(Limits.tasksPerRequest)) { self.count = Int(count) }
        if let priority = try transfer.number(.priority, in: 0...1) { self.priority = priority }
        if let seconds = try transfer.number(.timeout, in: 1...Limits.longestTimeout) { resourceTimeout = seconds }
        if let wakes = try transfer.truth(.wakes) { wakesApp = wakes }
        if try transfer.truth(.discretionary) ?? false { rules.discretion = .full }
        if let allowed = try transfer.truth(.cellular) { rules.allowsCellularAccess = allowed }
        if let allowed = try transfer.truth(.expensive) { rules.allowsExpensiveNetworkAccess = allowed }
        if let allowed = try transfer.truth(.constrained) { rules.allowsConstrainedNetworkAccess = allowed }
        if let required = try transfer.truth(.externalPower) { rules.requiresExternalPower = required }
        if let percent = try transfer.whole(.minimumBattery, in: 0...100) { rules.minimumBattery = Int(percent) }
    }
}
