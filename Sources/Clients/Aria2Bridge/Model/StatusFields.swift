import Foundation
import NightshiftAPI

/// The fields of a download in the responses of `tellStatus` and its relatives. All values are texts, as in aria2.
struct StatusFields: Sendable {
    var task: TaskStatus
    var note: DownloadNote
    /// The folder of downloads without `dir`.
    var directory: String

    /// The size of a piece. aria2's default is used, because Nightshift does not divide files into pieces.
    static let pieceLength: Int64 = 1 << 20

    var status: DownloadStatus { DownloadStatus(task, note) }

    /// The response of `tellStatus`.
    ///
    /// - Parameter keys: the wanted fields; nil for all.
    func all(_ keys: Set<String>?) -> RPCValue {
        var fields: [String: RPCValue] = [
            "gid": .string(note.gid.text), "status": .string(status.rawValue),
            "totalLength": Self.number(length), "completedLength": Self.number(completed),
            "uploadLength": "0", "uploadSpeed": "0", "downloadSpeed": .string(speed),
            "connections": Self.number(status == .active ? Int64(task.connections ?? 0) : 0),
            "pieceLength": Self.number(Self.pieceLength), "numPieces": Self.number(pieces),
            "dir": .string(folder), "files": files,
        ]
        if length > 0 { fields["bitfield"] = .string(bitfield) }
        if status.isStopped {
            fields["errorCode"] = Self.number(Int64(errorCode))
            fields["errorMessage"] = .string(status == .error ? task.error?.message ?? "" : "")
        }
        return .object(keys.map { keys in fields.filter { keys.contains($0.key) } } ?? fields)
    }

    /// The response of `getFiles`: one file.
    var files: RPCValue {
        [
            [
                "index": "1", "path": .string(path), "length": Self.number(length),
                "completedLength": Self.number(completed), "selected": "true", "uris": uris,
            ]
        ]
    }

    /// The response of `getUris`. The URL in use comes first.
    var uris: RPCValue {
        let used = task.url
        let isInUse = task.attempts > 0
        return .array(
            note.uris.map { uri in
                ["uri": .string(uri), "status": isInUse && uri == used ? "used" : "waiting"]
            })
    }

    /// The response of `getServers`.
    var servers: RPCValue {
        let server: RPCValue = [
            "uri": .string(task.url), "currentUri": .string(task.currentURL ?? task.url),
            "downloadSpeed": .string(speed),
        ]
        return [["index": "1", "servers": [server]]]
    }

    /// The response of `getOption`: aria2's options of each download with their values.
    ///
    /// - Parameter standards: the options that the user changed for all downloads.
    func options(over standards: [String: OptionValue]) -> RPCValue {
        var shown = Self.standardOptions(.task, standards.filter { Option.all[$0.key]?.isOfDownload ?? false })
        for (name, value) in note.options { shown[name] = value.shown }
        shown["dir"] = .string(folder)
        shown["max-download-limit"] = Self.number(task.rateLimit ?? 0)
        return .object(shown)
    }

    /// Returns the options of a scope with the values that apply to new downloads.
    static func standardOptions(_ scope: Option.Scope, _ standards: [String: OptionValue]) -> [String: RPCValue] {
        var shown: [String: RPCValue] = ["user-agent": .string("nightshift/\(NightshiftVersion.current)")]
        for (name, option) in Option.all where option.scope == .task || option.scope == scope {
            if let standard = option.standard { shown[name] = .string(standard) }
        }
        for (name, value) in standards where !DownloadOptions.secret.contains(name) { shown[name] = value.shown }
        return shown
    }

    // MARK: - Values

    private var length: Int64 { max(0, task.countOfBytesExpectedToReceive, isComplete ? completed : 0) }

    private var completed: Int64 { max(0, task.countOfBytesReceived) }

    private var isComplete: Bool { status == .complete }

    private var speed: String {
        status == .active ? String(Int64(saturating: task.bytesPerSecond ?? 0)) : "0"
    }

    private var destination: Destination { task.destination ?? Destination(directory: directory) }

    /// The option `dir`. The file can be in a folder below.
    private var folder: String { note.options["dir"]?.texts.first ?? destination.directory }

    /// The path of the file; empty while its name is unknown.
    private var path: String {
        if let path = task.file ?? destination.path { return path }
        guard task.response != nil, let name = (try? TransferURL(parsing: task.url))?.fileName else { return "" }
        return destination.directory + "/" + name
    }

    private var errorCode: Int {
        switch status {
        case .complete: EndCode.success
        case .removed: EndCode.removed
        default: task.error.map(EndCode.of) ?? 1
        }
    }

    private var pieces: Int64 { length.quotientRoundedUp(by: Self.pieceLength) }

    /// The received pieces, one bit each, the first in the highest bit. Received bytes count from the start of the file.
    private var bitfield: String {
        let received = isComplete ? pieces : completed / Self.pieceLength
        let bytes = pieces.quotientRoundedUp(by: 8)
        return (0..<bytes).map { index in
            let bits = min(8, max(0, received - index * 8))
            let byte = UInt8(truncatingIfNeeded: 0xFF00 >> bits)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    static func number(_ value: Int64) -> RPCValue { .string(String(value)) }
}

extension Int64 {
    fileprivate func quotientRoundedUp(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return quotient + (remainder > 0 ? 1 : 0)
    }
}
