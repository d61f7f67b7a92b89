package import Foundation

/// What a process has of memory, as `/proc` tells it.
package enum ProcessMemory {
    /// Bytes that no file stands behind.
    package static func anonymous(of pid: pid_t) throws -> Int {
        let path = "/proc/\(pid)/smaps_rollup"
        let rollup = try String(contentsOfFile: path, encoding: .utf8)
        let line = rollup.split(separator: "\n").first { $0.hasPrefix("Anonymous:") }
        guard let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw SystemError("\(path) says nothing of anonymous memory")
        }
        return kibibytes << 10
    }
}
