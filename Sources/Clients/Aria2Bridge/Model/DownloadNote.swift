import Foundation
import NightshiftAPI

/// Data that the bridge stores with each transfer, as its client data: what aria2's clients expect to read again.
struct DownloadNote: Hashable, Sendable, Codable {
    var gid: GID
    /// The URLs that the client gave, without user names and passwords. A URL that is given twice counts once.
    var uris: [String]
    /// The options that the client gave, in aria2's form. Secrets are left out.
    var options: [String: OptionValue]
    /// The names of options whose values, or parts of them, are left out; nil if there are none.
    var omitted: Set<String>?

    /// Parses the client data of a transfer. Returns nil for the data of another program.
    init?(_ clientData: String?) {
        guard let clientData, let note = try? JSON.decode(Self.self, from: Data(clientData.utf8)) else { return nil }
        self = note
    }

    init(gid: GID, uris: [String], options: [String: OptionValue]) {
        self.gid = gid
        self.uris = uris
        self.options = options
    }

    /// Checks that a change of options does not lose a secret that is not stored.
    ///
    /// - Throws: a sentence that names the option to give again.
    func requireSecrets(for changed: Set<String>) throws(RPCError) {
        for group in DownloadOptions.groups where !changed.isDisjoint(with: group.names) {
            guard omitted?.contains(group.secret) ?? false, !changed.contains(group.secret) else { continue }
            throw RPCError("Nightshift does not show secrets again, so give --\(group.secret) as well.")
        }
    }

    /// The note as client data.
    var text: String {
        // A note has only strings, which JSON can always express.
        (try? JSON.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

/// The value of an option: a text, or a list of texts for `header`.
enum OptionValue: Hashable, Sendable, Codable {
    case text(String)
    case list([String])

    var texts: [String] {
        switch self {
        case .text(let text): [text]
        case .list(let texts): texts
        }
    }

    /// The value as `getOption` shows it. aria2 ends each line of a list with a line feed.
    var shown: RPCValue {
        switch self {
        case .text(let text): .string(text)
        case .list(let lines): .string(lines.map { $0 + "\n" }.joined())
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = try (try? container.decode(String.self)).map { .text($0) } ?? .list(container.decode([String].self))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .list(let texts): try container.encode(texts)
        }
    }
}
