import Foundation

/// Checks of a destination that run before any transfer starts.
enum DestinationCheck {
    static func requireDirectory(_ path: String) throws {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw CommandFailure.failed(
                "The directory \(path) does not exist. Create it with: mkdir -p \(ShellWord.quoted(path))")
        }
        guard isDirectory.boolValue else { throw CommandFailure.failed("\(path) is not a directory.") }
        guard FileManager.default.isWritableFile(atPath: path) else {
            throw CommandFailure.failed("You have no permission to write to the directory \(path).")
        }
    }

    /// Throws an error if the file cannot be created.
    ///
    /// - Parameter typed: the path as the user typed it.
    static func requireFile(_ path: String, asTyped typed: String, force: Bool) throws {
        var isDirectory: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
        if typed.hasSuffix("/") || (exists && isDirectory.boolValue) {
            throw CommandFailure.failed("\(typed) is a directory. Use -d for a directory.")
        }
        guard !exists || force else {
            throw CommandFailure.failed(
                "\(typed) already exists. Replace it with --force, or use -d, which gives the new file a free name.")
        }
        try requireDirectory(PhysicalPath.directory(of: path))
    }
}
