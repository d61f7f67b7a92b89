import CNightshift
import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Writes results where their user wants them.
extension Invocation {
    /// Writes a file whole or not at all, also where the disk is full.
    ///
    /// - Parameters:
    ///   - file: an absolute path.
    ///   - isReplacing: whether a file that is there makes way.
    /// - Returns: false where one is there that does not.
    func write(_ data: Data, to file: String, isReplacing: Bool) throws -> Bool {
        let place = URL(filePath: file)
        try DestinationCheck.requireDirectory(place.deletingLastPathComponent().path(percentEncoded: false))
        do {
            var information = stat()
            let isThere = stat(file, &information) == 0
            if isReplacing, isThere, information.st_mode & S_IFMT != S_IFREG {
                // A pipe, or /dev/null: no file takes its place.
                try data.write(to: place)
            } else if isReplacing {
                try data.write(to: place, options: .atomic)
            } else {
                return try writeNew(data, to: place)
            }
            return true
        } catch {
            throw CommandFailure.failed("\(file) could not be written: \(error.systemReason).")
        }
    }

    /// Somebody may make the file meanwhile: then it is not touched either.
    private func writeNew(_ data: Data, to place: URL) throws -> Bool {
        let draft = place.deletingLastPathComponent().appending(path: ".nightshift-\(UUID().uuidString)")
        let (from, to) = (draft.path(percentEncoded: false), place.path(percentEncoded: false))
        defer { unlink(from) }
        try data.write(to: draft, options: .withoutOverwriting)
        guard nightshift_rename_exclusive(from, to) != 0 else { return true }
        guard errno != EEXIST else { return false }
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
