import Foundation
import GRDB
import Glibc
import NightshiftAPI
import TestSupport

/// What a power cut may do to files: bytes that were not synced are gone, or are anything.
struct PowerCut {
    let paths: ServicePaths
    let random: SharedRandom

    private struct Claim {
        var path: String
        var synced: Int64
    }

    func harm() throws {
        let claims = try readClaims()
        let names = try FileManager.default.contentsOfDirectory(atPath: paths.partials.path)
        for name in names {
            let path = paths.partials.appending(path: name).path
            try spoil(path, from: claims.filter { $0.path == path }.map(\.synced).max() ?? 0)
        }
    }

    /// Which bytes the store says survive.
    private func readClaims() throws -> [Claim] {
        let database = try DatabaseQueue(path: paths.database.path)
        defer { try? database.close() }
        return try database.read { db in
            let partials = try Row.fetchAll(
                db,
                sql: """
                    SELECT json_extract(partial, '$.path') AS path, json_extract(partial, '$.synced') AS synced
                    FROM tasks WHERE partial IS NOT NULL
                    """
            ).map { Claim(path: $0["path"], synced: $0["synced"]) }
            // The intent to publish is written down after the whole file was synced.
            let publications = try Row.fetchAll(
                db,
                sql: """
                    SELECT json_extract(publication, '$.from') AS path, json_extract(publication, '$.size') AS synced
                    FROM tasks WHERE publication IS NOT NULL
                    """
            ).map { Claim(path: $0["path"], synced: $0["synced"]) }
            return partials + publications
        }
    }

    private func spoil(_ path: String, from synced: Int64) throws {
        var information = stat()
        guard stat(path, &information) == 0 else { return }
        let size = Int64(information.st_size)
        guard size >= synced else { return }
        switch random.number(0...3) {
        case 0: truncate(path, off_t(synced))
        case 1: truncate(path, off_t(synced + Int64(random.fraction() * Double(size - synced))))
        case 2: break
        default:
            let length = Int(random.fraction() * Double(size - synced + 100_000))
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw SystemError("open \(path)") }
            defer { close(descriptor) }
            truncate(path, off_t(synced))
            let garbage = [UInt8](repeating: UInt8(random.number(0...255)), count: length)
            _ = garbage.withUnsafeBytes { bytes in
                bytes.baseAddress.map { pwrite(descriptor, $0, bytes.count, off_t(synced)) }
            }
        }
    }
}
