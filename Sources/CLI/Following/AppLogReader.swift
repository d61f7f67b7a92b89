import Foundation
import NightshiftAPI
import NightshiftClient

/// An app's log, read piece by piece, also while the app writes to it and the service cuts it.
///
/// A log that has doubled its limit loses its beginning, so that what was at one place is at another one. Each piece
/// is therefore asked for with the end of the last one before it; where that is not found, the log was cut, and the
/// reader looks where the end of what it has is now.
struct AppLogReader: Sendable {
    let service: Service
    let app: AppID
    /// The bytes before what comes next.
    private var position: Int64 = 0
    /// The last bytes that were given out, which lie before ``position``.
    private var end = Data()

    struct Piece: Hashable, Sendable {
        var bytes: Data
        /// Whether some before it may have gone unread.
        var isBehindGap = false
    }

    /// Bytes of a piece: little memory, few requests.
    static let pieceSize = 1 << 20
    /// Bytes that are the same at one place only, as far as logs go.
    static let overlap = 512

    init(service: Service, app: AppID) {
        self.service = service
        self.app = app
    }

    /// The next bytes, or nil where there are no more for now.
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

    /// Where `text` is for the last time: what a log repeats is not printed twice.
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
