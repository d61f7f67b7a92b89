import Foundation
import Glibc

/// A folder for this run, with the logs of the programs that it starts. It is deleted afterwards.
struct Workspace {
    let path: String

    init(below parent: String) throws {
        path = "\(parent)/nightshift-bench-\(getpid())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    var log: String { "\(path)/log" }

    /// Creates an empty subfolder, and deletes an existing one first.
    func empty(_ name: String) throws -> String {
        let folder = "\(path)/\(name)"
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file of `size` bytes that cannot be compressed.
    static func fill(_ path: String, size: Int, seed: UInt64) throws {
        guard let file = fopen(path, "w") else { throw BenchError("cannot write \(path)") }
        defer { fclose(file) }
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        var block = [UInt64](repeating: 0, count: 8192)
        var left = size
        while left > 0 {
            for index in block.indices {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                block[index] = state
            }
            let count = min(left, block.count * 8)
            guard fwrite(block, 1, count, file) == count else { throw BenchError("cannot write \(path)") }
            left -= count
        }
    }

    static func size(_ path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }
}
