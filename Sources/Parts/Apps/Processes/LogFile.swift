import CDispatch  // for stat(2), which the compiler attributes to CDispatch wherever that module is loaded
import Glibc

/// A size-limited file to which processes append.
package enum LogFile {
    private static let chunk = 256 << 10

    /// Cuts the file at `path` to its last `limit` bytes if it has more than twice as many. Returns whether the file
    /// was cut.
    ///
    /// Writers keep appending to the same file. Output that they write while the end is moved to the front is lost.
    /// With the usual limit, this takes microseconds. The first remaining line is complete.
    @discardableResult
    package static func trim(_ path: String, limit: Int64) -> Bool {
        let descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return false }
        let size = Int64(information.st_size)
        guard size > 2 * limit else { return false }
        return moveToFront(descriptor, from: lineStart(descriptor, from: size - limit), to: size)
    }

    /// Returns the offset of the first line that begins at or after `offset`; `offset` itself if the line there is
    /// longer than a chunk.
    private static func lineStart(_ descriptor: Int32, from offset: Int64) -> Int64 {
        var buffer = [UInt8](repeating: 0, count: chunk)
        // Reading starts one byte earlier, because a line may begin exactly at the offset.
        let count = pread(descriptor, &buffer, buffer.count, Int(offset) - 1)
        guard count > 0, let end = buffer[..<count].firstIndex(of: UInt8(ascii: "\n")) else { return offset }
        return offset + Int64(end)
    }

    /// Moves the kept part to the front. It is less than half of the file, so every byte is read before it is
    /// overwritten.
    private static func moveToFront(_ descriptor: Int32, from start: Int64, to end: Int64) -> Bool {
        var buffer = [UInt8](repeating: 0, count: chunk)
        var (source, target) = (start, Int64(0))
        while source < end {
            let count = pread(descriptor, &buffer, min(buffer.count, Int(end - source)), Int(source))
            guard count > 0, pwrite(descriptor, buffer, count, Int(target)) == count else { return false }
            source += Int64(count)
            target += Int64(count)
        }
        return ftruncate(descriptor, Int(target)) == 0
    }
}
