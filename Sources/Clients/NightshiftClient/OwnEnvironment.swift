import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The environment of this process as bytes, because values may be invalid UTF-8.
package enum OwnEnvironment {
    /// The variables that name directories of the service. If the bytes of a value are not UTF-8, converting them to
    /// text would change the directory.
    private static let directories = [
        "HOME", "NIGHTSHIFT_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
    ]

    /// A message that names a required variable whose value is not valid UTF-8; nil if all values are valid.
    package static var mistake: String? {
        let unreadable = directories.first { name in
            getenv(name).map { String(validatingCString: $0) == nil } ?? false
        }
        return unreadable.map { name in
            "The environment variable \(name) is not valid UTF-8. Set it to another path, or unset it."
        }
    }

    /// Returns `name=value` for the environment of a new process. The caller frees the memory. If this process has a
    /// variable with the same text, its original bytes are used, even if they are not UTF-8.
    package static func entry(_ name: String, _ value: String) -> UnsafeMutablePointer<CChar>? {
        guard let own = getenv(name), String(cString: own) == value else { return strdup("\(name)=\(value)") }
        let head = Array("\(name)=".utf8CString.dropLast())
        let length = strlen(own)
        guard let entry = malloc(head.count + length + 1)?.assumingMemoryBound(to: CChar.self) else { return nil }
        for (index, byte) in head.enumerated() { entry[index] = byte }
        memcpy(entry + head.count, own, length + 1)
        return entry
    }
}
