import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The directory where relative paths start.
enum WorkingDirectory: Hashable, Sendable {
    /// The directory's absolute path.
    case path(String)
    /// The state of a directory that was removed or that cannot be reached from the root.
    case missing
    /// A path that is not UTF-8. The value is the path with escaped bytes.
    case unreadable(String)

    static var ofThisProcess: WorkingDirectory {
        guard let path = getcwd(nil, 0) else { return .missing }
        defer { free(path) }
        let bytes = ArgumentBytes.bytes(path)
        // For a directory outside the root, Linux returns a path without a leading slash.
        guard bytes.first == UInt8(ascii: "/") else { return .missing }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return .unreadable(ArgumentBytes.escaped(bytes))
        }
        return .path(text)
    }

    /// Returns the absolute path.
    ///
    /// - Throws: ``CommandFailure`` if the directory does not exist or its path is not UTF-8.
    func resolved() throws -> String {
        switch self {
        case .path(let path): return path
        case .missing:
            throw CommandFailure.failed(
                "The working directory was removed or unmounted. Change to another directory with cd, or give an "
                    + "absolute path.")
        case .unreadable(let shown):
            throw CommandFailure.failed(
                "The path of the working directory is not valid UTF-8: '\(shown)'. Change to another directory with cd, "
                    + "or give an absolute path.")
        }
    }
}

/// A resolver of paths that follows the rules of the kernel.
enum PhysicalPath {
    /// Returns the path without `.` and `..`. After a symbolic link, `..` is the parent of the link's target
    /// (path_resolution(7)).
    ///
    /// Other symbolic links stay in the path.
    ///
    /// - Parameter path: an absolute path.
    /// - Throws: ``CommandFailure`` if the path before a `..` does not exist.
    static func resolved(_ path: String) throws -> String {
        var result = ""
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            switch String(Substring(part)) {
            case ".": break
            case "..":
                result = try real(result)
                result = String(result[..<(result.utf8.lastIndex(of: UInt8(ascii: "/")) ?? result.startIndex)])
            case let name: result += "/" + name
            }
        }
        return result.isEmpty ? "/" : result
    }

    /// Returns the path without its last component, which is the directory.
    static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// Returns the last component of the path, which is the name.
    static func name(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    }

    /// Returns the path with all symbolic links resolved. The result is empty for the root.
    private static func real(_ path: String) throws -> String {
        guard !path.isEmpty else { return "" }
        guard let found = realpath(path, nil) else {
            throw CommandFailure.failed("\(path): \(String(cString: strerror(errno))).")
        }
        defer { free(found) }
        let bytes = ArgumentBytes.bytes(found)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure.failed(
                "\(path) leads to a directory whose path is not valid UTF-8: '\(ArgumentBytes.escaped(bytes))'.")
        }
        return text == "/" ? "" : text
    }
}
