import Foundation

/// What can be known of a destination before anything is transferred.
enum DestinationCheck {
    static func requireDirectory(_ path: String) throws {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw CommandFailure.failed(
                "There is no directory \(path). Make it with: mkdir -p \(ShellWord.quoted(path))")
        }
        guard isDirectory.boolValue else { throw CommandFailure.failed("\(path) is not a directory.") }
        guard FileManager.default.isWritableFile(atPath: path) else {
            throw CommandFailure.failed("The directory \(path) may not be written to.")
        }
    }

    /// - Parameter typed: the path as the person wrote it.
    static func requireFile(_ path: String, asTyped typed: String, force: Bool) throws {
        var isDirectory: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
        if typed.hasSuffix("/") || (exists && isDirectory.boolValue) {
            throw CommandFailure.failed("\(typed) is a directory; use -d for one.")
        }
        guard !exists || force else {
            throw CommandFailure.failed(
                "\(typed) is there already. Replace it with --force, or use -d: there a new file takes a free name.")
        }
        try requireDirectory(PhysicalPath.directory(of: path))
    }
}
