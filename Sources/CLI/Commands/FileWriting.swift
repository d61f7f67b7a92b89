import CNightshift
import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Writing of results to files.
extension Invocation {
    /// Writes a file completely or not at all, even if the disk is full.
    ///
    /// - Parameters:
    ///   - file: an absolute path.
    ///   - isReplacing: whether an existing file is replaced.
    /// - Returns: false if the file exists and is not replaced.
    func write(_ data: Data, to file: String, isReplacing: Bool) throws -> Bool {
        let place = URL(filePath: file)
        try DestinationCheck.requireDirectory(PhysicalPath.directory(of: file))
        do {
            var information = stat()
            let isThere = stat(file, &information) == 0
            if isReplacing, isThere, information.st_mode & S_IFMT != S_IFREG {
                // A pipe or device, such as /dev/null, is written to and not replaced.
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

    /// Writes a new file. If another program creates the file at the same time, that file is not replaced.
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
