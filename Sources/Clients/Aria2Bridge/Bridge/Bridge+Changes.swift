import NightshiftAPI
import NightshiftClient

/// Calls that change downloads: their states, their order, and their options.
extension Bridge {
    // MARK: - States

    func pause(_ parameters: Parameters) async throws -> RPCValue {
        let entry = try find(parameters)
        guard entry.status == .active || entry.status == .waiting else { throw Self.refusal(entry, "paused") }
        apply(try await send(.suspend(entry.task)))
        return .string(entry.gid.text)
    }

    func unpause(_ parameters: Parameters) async throws -> RPCValue {
        let entry = try find(parameters)
        guard entry.status == .paused else { throw Self.refusal(entry, "unpaused") }
        apply(try await send(.resume(entry.task)))
        return .string(entry.gid.text)
    }

    private static func refusal(_ entry: DownloadList.Entry, _ word: String) -> RPCError {
        RPCError("GID#\(entry.gid.text) cannot be \(word) now")
    }

    /// Cancels a download. As in aria2, an active download becomes a result, and a queued one disappears.
    func remove(_ parameters: Parameters) async throws -> RPCValue {
        let entry = try find(parameters)
        guard !entry.status.isStopped else {
            throw RPCError("Active Download not found for GID#\(entry.gid.text)")
        }
        apply(try await send(.cancel(entry.task, CancelRequest())))
        if entry.status.isQueued { try await act(.remove, on: [entry.task]) }
        return .string(entry.gid.text)
    }

    func removeResult(_ parameters: Parameters) async throws -> RPCValue {
        let entry = try find(parameters)
        guard entry.status.isStopped else {
            throw RPCError("Could not remove download result of GID#\(entry.gid.text)")
        }
        try await act(.remove, on: [entry.task])
        return "OK"
    }

    /// Performs an action on all downloads with one of these statuses.
    func all(_ statuses: Set<DownloadStatus>, _ action: TaskAction) async throws -> RPCValue {
        let entries = downloads.active + downloads.queued + downloads.stopped
        let tasks = entries.filter { statuses.contains($0.status) }.map(\.task)
        for start in stride(from: 0, to: tasks.count, by: Limits.tasksPerAction) {
            // A download may have ended meanwhile, so refusals for single downloads are no errors.
            try await act(action, on: Array(tasks[start...].prefix(Limits.tasksPerAction)))
        }
        return "OK"
    }

    /// Performs an action on transfers, and applies the results to the list.
    private func act(_ action: TaskAction, on tasks: [TaskID]) async throws {
        for result in try await send(.act(TaskActionRequest(action, tasks))).results {
            if let task = result.task {
                apply(task)
            } else if action == .remove, result.problem == nil {
                downloads.remove(result.id)
            }
        }
    }

    // MARK: - Order

    func changePosition(_ parameters: Parameters) async throws -> RPCValue {
        let entry = try find(parameters)
        let offset = try parameters.integer(1)
        let how = try parameters.string(2)
        let queue = downloads.queued
        guard ["POS_SET", "POS_CUR", "POS_END"].contains(how) else { throw RPCError("Illegal argument.") }
        guard let current = queue.firstIndex(where: { $0.task == entry.task }) else {
            throw RPCError("GID#\(entry.gid.text) not found in the waiting queue.")
        }
        let origin = how == "POS_SET" ? 0 : how == "POS_CUR" ? Int64(current) : Int64(queue.count) - 1
        let (sum, overflow) = origin.addingReportingOverflow(offset)
        let wanted = overflow ? (offset < 0 ? 0 : Int64(queue.count)) : sum
        let position = Int(clamping: min(max(0, wanted), Int64(queue.count) - 1))
        try await move(entry.task, to: position)
        return .integer(Int64(position))
    }

    /// Moves a queued download to a position of the queue.
    func move(_ task: TaskID, to position: Int) async throws {
        var places = downloads.queued.map(\.place)
        guard let current = places.firstIndex(where: { $0.id == task }) else { return }
        let place = places.remove(at: current)
        places.insert(place, at: min(position, places.count))
        for change in QueueOrder.changes(for: places) {
            apply(try await send(.changeTask(change.id, TaskChange(priority: change.priority))))
        }
    }

    // MARK: - Options

    func changeOption(_ parameters: Parameters) async throws -> RPCValue {
        let entry = try find(parameters)
        let options = try Self.options(parameters.object(1), where: \.isOfDownload)
        guard !entry.status.isStopped else { throw RPCError("Cannot change option for GID#\(entry.gid.text)") }
        guard !options.isEmpty else { return "OK" }
        let fields = try await fields(parameters)
        try await change(fields, options: options, uris: fields.note.uris)
        return "OK"
    }

    /// Gives a download other options and URIs.
    ///
    /// The rate limit applies at once. Other changes give the transfer a new request, as aria2 does, and the transfer
    /// continues with the bytes that it has.
    func change(_ fields: StatusFields, options: [String: OptionValue], uris: [String]) async throws {
        let all = fields.note.options.merging(options) { $1 }
        var plan = try TransferPlan(
            uris: uris, gid: fields.note.gid, options: all, standards: standards, directory: directory)
        let id = fields.task.id
        let changed = Set(options.keys)
        try fields.note.requireSecrets(for: changed)
        let omitted = (fields.note.omitted ?? []).subtracting(changed).union(plan.note.omitted ?? [])
        plan.note.omitted = omitted.isEmpty ? nil : omitted
        if !changed.subtracting(["max-download-limit"]).isEmpty || uris != fields.note.uris {
            var request = RetargetRequest()
            request.url = uris == fields.note.uris ? nil : plan.request.url
            request.mirrors = uris == fields.note.uris ? nil : plan.request.mirrors ?? []
            if !changed.isDisjoint(with: Self.destinationOptions) { request.destination = plan.request.destination }
            if !changed.isDisjoint(with: Self.headerOptions) { request.headers = plan.request.headers ?? [] }
            if !changed.isDisjoint(with: Self.credentialOptions) { request.credential = plan.request.credential }
            if !changed.isDisjoint(with: Self.connectionOptions) { request.connections = plan.request.connections }
            if changed.contains("checksum") { request.checksum = plan.request.checksum }
            if !changed.isDisjoint(with: Self.proxyOptions) { request.proxy = plan.request.proxy ?? "" }
            if changed.contains("timeout") { request.idleTimeout = plan.request.idleTimeout }
            request.clientData = plan.note.text
            apply(try await send(.retarget(id, request)))
        }
        let change = TaskChange(rateLimit: plan.request.rateLimit ?? 0, clientData: plan.note.text)
        apply(try await send(.changeTask(id, change)))
    }

    private static let destinationOptions: Set = ["dir", "out", "allow-overwrite", "auto-file-renaming"]
    private static let headerOptions: Set = ["header", "referer", "user-agent", "http-no-cache"]
    private static let credentialOptions: Set = ["http-user", "http-passwd"]
    private static let connectionOptions: Set = ["split", "max-connection-per-server"]
    private static let proxyOptions: Set = [
        "all-proxy", "all-proxy-user", "all-proxy-passwd", "http-proxy", "http-proxy-user", "http-proxy-passwd",
        "https-proxy", "https-proxy-user", "https-proxy-passwd",
    ]

    /// Removes and adds URIs: file index, URIs to remove, URIs to add, position.
    func changeURI(_ parameters: Parameters) async throws -> RPCValue {
        let entry = try find(parameters)
        let index = try parameters.integer(1, from: 1)
        let removed = try parameters.list(2).compactMap(\.string)
        let added = try parameters.list(3).compactMap(\.string)
        let position = try parameters.optionalInteger(4)
        if let position, position < 0 { throw RPCError("Position must be greater than or equal to 0.") }
        guard !entry.status.isStopped else { throw RPCError("Cannot remove URIs from GID#\(entry.gid.text)") }
        guard index == 1 else { throw RPCError("fileIndex is out of range") }
        let fields = try await fields(parameters)
        var uris = fields.note.uris
        var removals: Int64 = 0
        for uri in removed {
            guard let found = uris.firstIndex(of: uri) else { continue }
            uris.remove(at: found)
            removals += 1
        }
        let new = added.compactMap { try? TransferURL(parsing: $0).string }
        uris.insert(contentsOf: new, at: min(uris.count, position.map { Int(clamping: $0) } ?? uris.count))
        if uris != fields.note.uris { try await change(fields, options: [:], uris: uris) }
        return [.integer(removals), .integer(Int64(new.count))]
    }

    /// Returns the options of a call in aria2's form. As in aria2, other options and values that are neither texts nor
    /// lists are ignored.
    ///
    /// - Parameter isMeant: whether the call can set an option.
    static func options(
        _ members: [String: RPCValue], where isMeant: (Option) -> Bool
    ) throws(RPCError) -> [String: OptionValue] {
        var options: [String: OptionValue] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let option = Option.all[name], isMeant(option) else { continue }
            switch value {
            case .string(let text):
                let canonical = try option.canonical(text)
                options[name] =
                    option.isList ? .list(canonical.split(separator: "\n").map(String.init)) : .text(canonical)
            case .array(let values) where option.isList: options[name] = .list(values.compactMap(\.string))
            default: break
            }
        }
        return options
    }

    // MARK: - Global options

    func globalOptions() async throws -> RPCValue {
        var shown = StatusFields.standardOptions(.global, standards)
        let settings = try await send(.settings)
        shown["dir"] = .string(standards["dir"]?.texts.first ?? directory)
        shown["max-overall-download-limit"] = StatusFields.number(settings.rateLimit ?? 0)
        if let maximum = settings.maximumTransfers {
            shown["max-concurrent-downloads"] = StatusFields.number(Int64(maximum))
        }
        return .object(shown)
    }

    func changeGlobalOption(_ parameters: Parameters) async throws -> RPCValue {
        var options = try Self.options(parameters.object(0), where: \.isStandard)
        var settings = ServiceSettings()
        if let limit = options.removeValue(forKey: "max-overall-download-limit") {
            settings.rateLimit = limit.texts.first.flatMap { Int64($0) }
        }
        if let maximum = options.removeValue(forKey: "max-concurrent-downloads") {
            let number = maximum.texts.first.flatMap { Int($0) } ?? Limits.runningTransfers
            settings.maximumTransfers = min(number, Limits.runningTransfers)
        }
        if settings != ServiceSettings() { _ = try await send(.changeSettings(settings)) }
        try change(standards: options)
        return "OK"
    }
}
