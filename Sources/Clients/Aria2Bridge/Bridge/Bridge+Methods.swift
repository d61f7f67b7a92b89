import Foundation
import HTTPServing
import NightshiftAPI
import NightshiftClient

/// The methods of aria2's RPC interface (aria2c(1), "RPC INTERFACE").
extension Bridge {
    /// A method whose first parameter is the secret.
    private typealias Method = @Sendable (isolated Bridge, Parameters) async throws -> RPCValue

    /// The methods without a secret.
    private static let open = ["system.multicall", "system.listMethods", "system.listNotifications"]

    private static let methods: KeyValuePairs<String, Method> = [
        "aria2.addUri": { try await $0.addURI($1) },
        "aria2.addTorrent": { _, _ in throw RPCError("Nightshift does not support BitTorrent.") },
        "aria2.getPeers": { bridge, parameters in
            let entry = try bridge.find(parameters)
            guard !entry.status.isStopped else { throw RPCError("No peer data is available for GID#\(entry.gid.text)") }
            return []
        },
        "aria2.addMetalink": { _, _ in
            throw RPCError("Nightshift does not support Metalink. Add the URLs with aria2.addUri.")
        },
        "aria2.remove": { try await $0.remove($1) },
        "aria2.pause": { try await $0.pause($1) },
        "aria2.forcePause": { try await $0.pause($1) },
        "aria2.pauseAll": { bridge, _ in try await bridge.all([.active, .waiting], .suspend) },
        "aria2.forcePauseAll": { bridge, _ in try await bridge.all([.active, .waiting], .suspend) },
        "aria2.unpause": { try await $0.unpause($1) },
        "aria2.unpauseAll": { bridge, _ in try await bridge.all([.paused], .resume) },
        "aria2.forceRemove": { try await $0.remove($1) },
        "aria2.changePosition": { try await $0.changePosition($1) },
        "aria2.tellStatus": { bridge, parameters in
            let keys = try parameters.keys(1)
            return try await bridge.fields(parameters).all(keys)
        },
        "aria2.getUris": { bridge, parameters in
            let entry = try bridge.find(parameters)
            guard !entry.status.isStopped else { throw RPCError("No URI data is available for GID#\(entry.gid.text)") }
            return try await bridge.fields(parameters).uris
        },
        "aria2.getFiles": { try await $0.fields($1).files },
        "aria2.getServers": { bridge, parameters in
            let entry = try bridge.find(parameters)
            guard entry.status == .active else { throw RPCError("No active download for GID#\(entry.gid.text)") }
            return try await bridge.fields(parameters).servers
        },
        "aria2.tellActive": { bridge, parameters in
            try await bridge.tell(bridge.downloads.active, keys: parameters.keys(0))
        },
        "aria2.tellWaiting": { try await $0.tell($0.downloads.queued, $1) },
        "aria2.tellStopped": { try await $0.tell($0.downloads.stopped, $1) },
        "aria2.getOption": { bridge, parameters in
            try await bridge.fields(parameters).options(over: bridge.standards)
        },
        "aria2.changeUri": { try await $0.changeURI($1) },
        "aria2.changeOption": { try await $0.changeOption($1) },
        "aria2.getGlobalOption": { bridge, _ in try await bridge.globalOptions() },
        "aria2.changeGlobalOption": { try await $0.changeGlobalOption($1) },
        "aria2.purgeDownloadResult": { bridge, _ in
            try await bridge.all([.complete, .error, .removed], .remove)
        },
        "aria2.removeDownloadResult": { try await $0.removeResult($1) },
        "aria2.getVersion": { _, _ in
            // Clients read the version to decide which methods they call, so it is that of the imitated aria2.
            ["version": "1.36.0", "enabledFeatures": ["Async DNS", "GZip", "HTTPS", "Message Digest", "XML-RPC"]]
        },
        "aria2.getSessionInfo": { bridge, _ in ["sessionId": .string(bridge.sessionID)] },
        "aria2.shutdown": { bridge, _ in
            bridge.shutDown()
            return "OK"
        },
        "aria2.forceShutdown": { bridge, _ in
            bridge.shutDown()
            return "OK"
        },
        "aria2.getGlobalStat": { bridge, _ in try await bridge.globalStat() },
        // Every change is stored already.
        "aria2.saveSession": { _, _ in "OK" },
    ]

    /// The methods that need no service, so they do not start it.
    private static let local: Set = [
        "aria2.addTorrent", "aria2.addMetalink", "aria2.getVersion", "aria2.getSessionInfo", "aria2.shutdown",
        "aria2.forceShutdown", "aria2.saveSession",
    ]

    /// The names of all methods, in aria2's order.
    static var methodNames: [String] { methods.map(\.key) + open }

    private static let table = Dictionary(uniqueKeysWithValues: methods.map { ($0.key, $0.value) })

    /// Returns the result of a call, after the check of its secret.
    func result(of call: RPCCall) async throws -> RPCValue {
        let values = call.parameters.array ?? []
        switch call.method {
        case "system.multicall": return try await multicall(Parameters(values), call.format)
        case "system.listMethods":
            return .array(Self.methodNames.map { .string($0) })
        case "system.listNotifications":
            // Clients subscribe to the list, and aria2 always has the one for BitTorrent.
            let names = DownloadEvent.allCases.map(\.rawValue) + ["onBtDownloadComplete"]
            return .array(names.map { .string("aria2.\($0)") })
        default: break
        }
        guard let first = values.first?.string, Secret(text: "token:" + secret).matches(first) else {
            throw RPCError.unauthorized
        }
        guard let method = Self.table[call.method] else { throw RPCError("No such method: \(call.method)") }
        if !Self.local.contains(call.method) { try await prepare() }
        return try await method(self, Parameters(Array(values.dropFirst())))
    }

    /// Performs several calls. Each result is a list with one value, or an error.
    private func multicall(_ parameters: Parameters, _ format: RPCCall.Format) async throws -> RPCValue {
        var results: [RPCValue] = []
        for call in try parameters.list(0) {
            do {
                results.append([try await member(call)])
            } catch {
                results.append(failure(error).value(in: format))
            }
        }
        return .array(results)
    }

    private func member(_ call: RPCValue) async throws -> RPCValue {
        guard let members = call.object else { throw RPCError("system.multicall expected struct.") }
        guard let method = members["methodName"]?.string else { throw RPCError("Missing methodName.") }
        guard method != "system.multicall" else { throw RPCError("Recursive system.multicall forbidden.") }
        return try await result(of: RPCCall(method: method, parameters: members["params"] ?? []))
    }

    // MARK: - Reading

    /// Returns the download that the first parameter names.
    func find(_ parameters: Parameters) throws(RPCError) -> DownloadList.Entry {
        try downloads.find(try parameters.string(0))
    }

    /// Returns the current fields of the download that the first parameter names.
    func fields(_ parameters: Parameters) async throws -> StatusFields {
        let entry = try find(parameters)
        guard let fields = try await update([entry.task]).first else {
            downloads.remove(entry.task)
            throw RPCError("GID \(try parameters.string(0)) is not found")
        }
        return fields
    }

    /// Returns the part of a list that the parameters ask for: offset, number, keys.
    private func tell(_ entries: [DownloadList.Entry], _ parameters: Parameters) async throws -> RPCValue {
        let offset = try parameters.integer(0)
        let count = try parameters.integer(1, from: 0)
        return try await tell(entries.part(offset: offset, count: count), keys: parameters.keys(2))
    }

    private func tell(_ entries: [DownloadList.Entry], keys: Set<String>?) async throws -> RPCValue {
        .array(try await update(entries.map(\.task)).map { $0.all(keys) })
    }

    private func globalStat() async throws -> RPCValue {
        let running = try await update(downloads.active.map(\.task)).filter { $0.status == .active }
        let speed = running.reduce(0) { $0 + ($1.task.bytesPerSecond ?? 0) }
        let stopped = StatusFields.number(Int64(downloads.stopped.count))
        return [
            "downloadSpeed": StatusFields.number(Int64(saturating: speed)), "uploadSpeed": "0",
            "numActive": StatusFields.number(Int64(downloads.active.count)),
            "numWaiting": StatusFields.number(Int64(downloads.queued.count)),
            "numStopped": stopped, "numStoppedTotal": stopped,
        ]
    }
}
