import Foundation
import NightshiftAPI
import NightshiftClient

/// A reader of an app's log, which works while the app writes to the log and the service truncates it.
///
/// When a log reaches twice its limit, the service removes its beginning, and all positions change. Therefore each
/// request also covers the end of the previous piece. If that end is not at the expected position, the log was
/// truncated, and the reader searches for the end.
struct AppLogReader: Sendable {
    let service: Service
    let app: AppID
    /// The position of the next byte to read.
    private var position: Int64 = 0
    /// The last bytes before ``position``.
    private var end = Data()

    struct Piece: Hashable, Sendable {
        var bytes: Data
        /// Whether the reader may have missed bytes before this piece.
        var isBehindGap = false
    }

    /// The size of a piece in bytes. It is small enough for memory and large enough to need few requests.
    static let pieceSize = 1 << 20
    /// The number of bytes that identify a position in the log. A sequence of this length is unlikely to occur twice.
    static let overlap = 512

    init(service: Service, app: AppID) {
        self.service = service
        self.app = app
    }

    /// Returns the next bytes, or nil if the log has no new bytes yet.
    mutating func next() async throws -> Piece? {
        let bytes = try await read(from: position - Int64(end.count))
        guard bytes.starts(with: end) else { return try await afterCut() }
        return parse(bytes.dropFirst(end.count))
    }

    private mutating func parse(_ bytes: Data, isBehindGap: Bool = false) -> Piece? {
        guard !bytes.isEmpty else { return nil }
        position += Int64(bytes.count)
        end = Data((end + bytes).suffix(Self.overlap))
        return Piece(bytes: Data(bytes), isBehindGap: isBehindGap)
    }

    private mutating func afterCut() async throws -> Piece? {
        guard let place = try await lastPlace(of: end) else {
            position = 0
            end = Data()
            return parse(try await read(from: 0), isBehindGap: true)
        }
        position = place + Int64(end.count)
        return parse(try await read(from: position))
    }

    /// Returns the last position of `text` in the log. With the first position, repeated lines could be printed twice.
    private func lastPlace(of text: Data) async throws -> Int64? {
        var found: Int64?
        var place: Int64 = 0
        var before = Data()
        while true {
            let bytes = try await read(from: place)
            guard !bytes.isEmpty else { return found }
            let searched = before + bytes
            if let range = searched.range(of: text, options: .backwards) {
                found = place - Int64(before.count) + Int64(range.lowerBound - searched.startIndex)
            }
            place += Int64(bytes.count)
            before = Data(searched.suffix(text.count - 1))
        }
    }

    private func read(from place: Int64) async throws -> Data {
        try await service.client.send(.log(of: app, after: place, limit: Self.pieceSize))
    }
}
