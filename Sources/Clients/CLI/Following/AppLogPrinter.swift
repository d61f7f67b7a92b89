import Foundation
import NightshiftAPI

/// A printer of an app's log: bytes for a pipe, escaped text for a terminal, or JSON.
struct AppLogPrinter: Sendable {
    var app: AppID
    var output: Output
    var errors: Output
    var isJSON: Bool
    var isFollowing: Bool
    /// The first bytes of a character whose other bytes have not arrived yet. If the output is a single JSON document,
    /// all bytes so far.
    private var held = Data()

    init(app: AppID, output: Output, errors: Output, isJSON: Bool, isFollowing: Bool) {
        self.app = app
        self.output = output
        self.errors = errors
        self.isJSON = isJSON
        self.isFollowing = isFollowing
    }

    private struct Document: Encodable {
        var id: AppID
        var text: String
    }

    mutating func write(_ piece: AppLogReader.Piece) throws {
        if piece.isBehindGap {
            errors.line("nightshift: The log was truncated before all of it was printed. Some output is missing here.")
        }
        guard isJSON || output.isTerminal else { return output.write(piece.bytes) }
        held += piece.bytes
        if isJSON && !isFollowing { return }
        let whole = held.count - Self.unfinished(held)
        try write(text: String(decoding: held.prefix(whole), as: UTF8.self))
        held = Data(held.dropFirst(whole))
    }

    /// Prints the remaining bytes after the end of the log was read.
    mutating func finish() throws {
        guard isJSON || !held.isEmpty else { return }
        try write(text: String(decoding: held, as: UTF8.self))
        held = Data()
    }

    private func write(text: String) throws {
        if isJSON {
            output.write(try JSON.encode(Document(id: app, text: text)) + Data("\n".utf8))
        } else {
            output.write(TerminalText.escaped(text, keepingNewlines: true))
        }
    }

    /// Returns the number of bytes at the end of `bytes` that belong to an incomplete UTF-8 sequence.
    private static func unfinished(_ bytes: Data) -> Int {
        for (count, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0xC0 != 0x80 {
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return length > count + 1 ? count + 1 : 0
        }
        return 0
    }
}
