import Foundation
import NightshiftAPI
import NightshiftClient

/// The call that adds a download.
extension Bridge {
    /// Adds a download: URIs, options, position.
    func addURI(_ parameters: Parameters) async throws -> RPCValue {
        let uris = try parameters.list(0).compactMap(\.string)
        guard !uris.isEmpty else { throw RPCError("URI is not provided.") }
        let members = try parameters.optionalObject(1) ?? [:]
        let options = try Self.options(members, where: \.isOfDownload)
        let position = try parameters.optionalInteger(2)
        if let position, position < 0 { throw RPCError("Position must be greater than or equal to 0.") }
        if options["gid"] != nil { try await readChanges() }
        var plan = try TransferPlan(
            uris: uris, gid: try gid(options["gid"]), options: options, standards: standards, directory: directory)
        if options["conditional-get"] == .text("true") { Self.requireNewer(&plan.request) }
        let response = try await send(.enqueue(EnqueueRequest(session: Self.session, tasks: [plan.request])))
        guard let task = response.ids.first else { throw RPCError("The service did not add the download.") }
        try await update([task])
        // A random GID is this call's own: the request was repeated because the service ended before it answered.
        guard response.joined == nil || options["gid"] == nil else { throw Self.used(plan.note.gid) }
        if let position { try await move(task, to: Int(clamping: position)) }
        return .string(plan.note.gid.text)
    }

    /// Makes the request conditional on a file that is newer than the one at the destination (RFC 9110, section 13.1.3).
    private static func requireNewer(_ request: inout TaskRequest) {
        guard let destination = request.destination, destination.overwrite == true, let path = destination.path,
            let date = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        else { return }
        let field = HeaderField(name: "If-Modified-Since", value: HTTPDate.format(date.timeIntervalSince1970))
        request.headers = (request.headers ?? []) + [field]
    }

    /// Returns the identifier of a new download: the one that the client wants, or a random one.
    private func gid(_ wanted: OptionValue?) throws(RPCError) -> GID {
        guard let text = wanted?.texts.first else { return GID() }
        // aria2 answers so, too.
        guard let gid = GID(text) else { throw RPCError("No URI to download.") }
        guard !downloads.isUsed(gid) else { throw Self.used(gid) }
        return gid
    }

    private static func used(_ gid: GID) -> RPCError { RPCError("GID \(gid.text) is already used.") }
}
