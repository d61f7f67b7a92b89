import Foundation
import NightshiftAPI
import NightshiftClient

/// Reads an app's log piece by piece, even while the app writes to it and the service truncates it.
///
/// When a log reaches twice its limit, the service removes its beginning, and all positions change. So each request
/// also covers the end of the previous piece. If that end is not at the expected position, the log was truncated, and
/// the reader searches for it.
struct AppLogReader: Sendable {
    let service: Service
    let app: AppID
    /// The position of the next byte.
    private var position: Int64 = 0
    /// The last bytes before ``position``.
    private var end = Data()

    struct Piece: Hashable, Sendable {
        var bytes: Data
        /// Whether bytes before this piece may have been missed.
        var isBehindGap = false
    }

    /// The size of a piece: small enough for memory, large enough for few requests.
    static let pieceSize = 1 << 20
    /// The number of bytes by which a position is recognised. So many bytes are unlikely to occur twice in a log.
    static let overlap = 512

    init(service: Service, app: AppID) {
        self.service = service
        self.app = app
    }

    /// Returns the next bytes, or nil if there are none yet.
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

    /// Returns the last position of `text`, so that repeated lines of a log are not printed twice.
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
