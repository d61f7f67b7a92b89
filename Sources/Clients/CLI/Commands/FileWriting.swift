import CNightshift
import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Methods that write results to files.
extension Invocation {
    /// Writes a file completely or not at all, even if the disk is full.
    ///
    /// - Parameters:
    ///   - file: an absolute path.
    ///   - isReplacing: whether an existing file is replaced.
    /// - Returns: false if the file exists and `isReplacing` is false.
    func write(_ data: Data, to file: String, isReplacing: Bool) throws -> Bool {
        let place = URL(filePath: file)
        try DestinationCheck.requireDirectory(PhysicalPath.directory(of: file))
        do {
            var information = stat()
            let isThere = stat(file, &information) == 0
            if isReplacing, isThere, information.st_mode & S_IFMT != S_IFREG {
                // The data is written into a pipe or device, such as /dev/null. Such a file is not replaced.
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

    /// Writes a new file. If another program creates the file at the same time, its file is not replaced.
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
