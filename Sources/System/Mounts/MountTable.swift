/// The kernel's device number of a file system other than the service's own.
package struct FileSystemKey: Hashable, Sendable {
    /// The device number as "MAJOR:MINOR" (proc_pid_mountinfo(5)). All mounts of one file system have the same number.
    package let device: String

    package init(device: String) {
        self.device = device
    }
}

/// The mounts of the machine, as a pure value. It finds the file system of a path without a call to a file system that
/// may not respond.
package struct MountTable: Sendable {
    private struct Mount: Sendable {
        var path: String
        var device: String
    }

    /// The mounts by path. The last mount at a path hides the earlier ones.
    private let mounts: [String: Mount]

    /// Parses the mounts.
    ///
    /// - Parameter text: the content of `/proc/self/mountinfo`.
    package init(parsing text: String) {
        var mounts: [String: Mount] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count >= 5 else { continue }
            let path = Self.unescaped(fields[4])
            mounts[path] = Mount(path: path, device: String(fields[2]))
        }
        self.mounts = mounts
    }

    /// Returns the device of the mount that contains a path without symbolic links; nil if no mount is known.
    package func device(of path: String) -> String? {
        var path = path
        while true {
            if let mount = mounts[path] { return mount.device }
            guard path != "/", let slash = path.lastIndex(of: "/") else { return nil }
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
    }

    /// Returns the device that a path leads to after its symbolic links are followed.
    ///
    /// Links are read only on trusted devices, because others may not respond. The search ends at the first other
    /// device that the path enters, and returns that device.
    ///
    /// - Parameters:
    ///   - path: an absolute path.
    ///   - isTrusted: returns whether links on a device may be read.
    ///   - readLink: returns the target of the link at a path; nil if no link exists there.
    package func device(
        following path: String, isTrusted: (String) -> Bool, readLink: (String) -> String?
    ) -> String? {
        var rest = path.split(separator: "/").map(String.init)[...]
        var current = "/"
        var links = 0
        while let name = rest.popFirst() {
            guard let device = device(of: current), isTrusted(device) else { return device(of: current) }
            if name == "." { continue }
            if name == ".." {
                current = Self.parent(of: current)
                continue
            }
            let next = current == "/" ? "/\(name)" : "\(current)/\(name)"
            // A mount point is a directory. Reading it as a link would call the file system that is mounted there.
            if mounts[next] == nil, links < Self.maximumLinks, let target = readLink(next) {
                links += 1
                if target.hasPrefix("/") { current = "/" }
                rest = target.split(separator: "/").map(String.init) + rest
            } else {
                current = next
            }
        }
        return device(of: current)
    }

    /// The maximum number of links that the kernel follows (path_resolution(7)).
    private static let maximumLinks = 40

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// Decodes spaces and backslashes, which the kernel writes as three octal digits.
    private static func unescaped(_ field: Substring) -> String {
        guard field.contains("\\") else { return String(field) }
        var bytes: [UInt8] = []
        var rest = Array(field.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3).map { Int($0) - 48 }
            if byte == UInt8(ascii: "\\"), digits.count == 3, digits.allSatisfy({ (0...7).contains($0) }) {
                bytes.append(UInt8(truncatingIfNeeded: digits[0] << 6 | digits[1] << 3 | digits[2]))
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
