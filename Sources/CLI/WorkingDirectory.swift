import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The directory that relative paths start from.
enum WorkingDirectory: Hashable, Sendable {
    /// An absolute path.
    case path(String)
    /// The directory was removed, or cannot be reached from the root.
    case missing
    /// The path is not UTF-8; it is shown with its bytes escaped.
    case unreadable(String)

    static var ofThisProcess: WorkingDirectory {
        guard let path = getcwd(nil, 0) else { return .missing }
        defer { free(path) }
        let bytes = ArgumentBytes.bytes(path)
        // Linux tells of a directory outside the root like this.
        guard bytes.first == UInt8(ascii: "/") else { return .missing }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return .unreadable(ArgumentBytes.escaped(bytes))
        }
        return .path(text)
    }

    /// - Throws: ``CommandFailure`` where there is none that can be named.
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

/// Paths as the kernel walks them.
enum PhysicalPath {
    /// The path without `.` and `..`. A `..` leads to the parent of what a symbolic link before it points to (path_resolution(7)).
    ///
    /// Links that no `..` follows stay in it.
    ///
    /// - Parameter path: an absolute one.
    /// - Throws: ``CommandFailure`` where a `..` follows something that is not there.
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

    /// The path without its last component.
    static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// The last component.
    static func name(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    }

    /// Where the symbolic links in the path lead; empty for the root.
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
