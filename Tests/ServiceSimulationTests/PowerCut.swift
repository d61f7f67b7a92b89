import Foundation
import GRDB
import Glibc
import NightshiftAPI
import Store
import TestSupport

/// The effects of a power cut on files: bytes that were not synced are missing or arbitrary.
struct PowerCut {
    let paths: ServicePaths
    let random: SharedRandom

    private struct Claim {
        var path: String
        var synced: ByteRanges
    }

    func harm() throws {
        let claims = try readClaims()
        let names = try FileManager.default.contentsOfDirectory(atPath: paths.partials.path)
        for name in names {
            let path = paths.partials.appending(path: name).path
            var synced = ByteRanges()
            for claim in claims where claim.path == path { synced.formUnion(claim.synced) }
            try spoil(path, but: synced)
        }
    }

    /// Returns the bytes that survive according to the store.
    private func readClaims() throws -> [Claim] {
        let database = try DatabaseQueue(path: paths.database.path)
        defer { try? database.close() }
        return try database.read { db in
            let partials = try Row.fetchAll(
                db,
                sql: """
                    SELECT json_extract(partial, '$.path') AS path, json_extract(partial, '$.synced') AS synced,
                        json_extract(partial, '$.segments.synced') AS segments
                    FROM tasks WHERE partial IS NOT NULL
                    """
            ).map { row in
                let segments = try (row["segments"] as String?).map {
                    try JSONDecoder().decode(ByteRanges.self, from: Data($0.utf8))
                }
                return Claim(path: row["path"], synced: segments ?? ByteRanges(0..<row["synced"]))
            }
            // The intent to publish is recorded after the whole file was synced.
            let publications = try Row.fetchAll(
                db,
                sql: """
                    SELECT json_extract(publication, '$.from') AS path, json_extract(publication, '$.size') AS synced
                    FROM tasks WHERE publication IS NOT NULL
                    """
            ).map { Claim(path: $0["path"], synced: ByteRanges(0..<$0["synced"])) }
            return partials + publications
        }
    }

    private func spoil(_ path: String, but synced: ByteRanges) throws {
        var information = stat()
        guard stat(path, &information) == 0 else { return }
        let size = Int64(information.st_size)
        let end = synced.end
        guard size >= end else { return }
        switch random.number(0...3) {
        case 0: truncate(path, off_t(end))
        case 1: truncate(path, off_t(end + Int64(saturating: random.fraction() * Double(size - end))))
        case 2: break
        default:
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw SystemError("open \(path)") }
            defer { close(descriptor) }
            truncate(path, off_t(end))
            let behind = end..<end + Int64(saturating: random.fraction() * Double(size - end + 100_000))
            for range in synced.missing(in: 0..<end).ranges + [behind] {
                let garbage = [UInt8](repeating: UInt8(random.number(0...255)), count: range.count)
                _ = garbage.withUnsafeBytes { bytes in
                    bytes.baseAddress.map { pwrite(descriptor, $0, bytes.count, off_t(range.lowerBound)) }
                }
            }
        }
    }
}
