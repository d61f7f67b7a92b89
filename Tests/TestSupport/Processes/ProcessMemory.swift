package import Foundation

/// The memory use of a process, read from `/proc`.
package enum ProcessMemory {
    /// Returns the number of bytes of memory that are not backed by a file.
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
