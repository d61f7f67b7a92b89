import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A list of URLs from a file or from standard input, with one URL per line. Reading needs only a limited amount of
/// memory.
///
/// The list is read twice: first to find mistakes, and then to send the URLs. So a mistake in line 70,000 is reported
/// before any transfer is accepted. Input that cannot be read twice is first copied to an unlinked temporary file.
///
/// A list may begin with a byte order mark of UTF-8 or UTF-16. If a line is not UTF-8, its bytes are percent-encoded
/// (``URLBytes``).
struct URLList: ~Copyable {
    private let descriptor: Int32

    /// Opens the file at `path`, or standard input if `path` is `-`.
    init(path: String, standardInput: Int32 = 0) throws {
        let opened = path == "-" ? dup(standardInput) : open(path, O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else {
            throw CommandFailure.usage("\(path): \(String(cString: strerror(errno)))")
        }
        if lseek(opened, 0, SEEK_CUR) >= 0 && path != "-" {
            descriptor = opened
            return
        }
        defer { close(opened) }
        descriptor = try Self.copied(opened)
    }

    deinit { close(descriptor) }

    /// Returns the number of URLs. Throws a usage error that lists the first ten invalid lines.
    borrowing func validated() throws -> Int {
        var count = 0
        var mistakes: [String] = []
        try forEachLine { number, url in
            count += 1
            if let mistake = URLArgument.mistake(in: url) { mistakes.append("line \(number): \(mistake)") }
            return mistakes.count < 10
        }
        guard mistakes.isEmpty else {
            throw CommandFailure.usage(mistakes.joined(separator: "\n") + "\nNo transfer was added.")
        }
        return count
    }

    /// Calls `body` with the URLs in order, at most `size` at a time.
    borrowing func forEachBatch(of size: Int, _ body: ([String]) async throws -> Void) async throws {
        var lines = try LineReader(descriptor: descriptor)
        var batch: [String] = []
        while let line = try lines.next() {
            guard let url = Self.url(in: line) else { continue }
            batch.append(url)
            if batch.count == size {
                try await body(batch)
                batch.removeAll(keepingCapacity: true)
            }
        }
        if !batch.isEmpty { try await body(batch) }
    }

    private borrowing func forEachLine(_ body: (Int, String) throws -> Bool) throws {
        var lines = try LineReader(descriptor: descriptor)
        var number = 0
        while let line = try lines.next() {
            number += 1
            guard let url = Self.url(in: line) else { continue }
            guard try body(number, url) else { return }
        }
    }

    /// Returns the URL in a line, or nil if the line is blank or a comment.
    private static func url(in line: String) -> String? {
        let text = line.trimmingSpaces()
        return text.isEmpty || text.hasPrefix("#") ? nil : text
    }

    private static func uncopied(_ error: Int32) -> CommandFailure {
        .failed("The list cannot be copied to a temporary file: \(String(cString: strerror(error))).")
    }

    private static func copied(_ source: Int32) throws -> Int32 {
        let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        var name = Array((folder + "/nightshift-list-XXXXXX").utf8CString)
        let copy = mkstemp(&name)
        unlink(name)
        guard copy >= 0 else {
            throw uncopied(errno)
        }
        var buffer = [UInt8](repeating: 0, count: LineReader.chunk)
        while true {
            let count = read(source, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN {
                // Another program has made the open file description non-blocking, which affects every process that
                // shares it.
                var place = pollfd(fd: source, events: Int16(POLLIN), revents: 0)
                poll(&place, 1, -1)
                continue
            }
            guard count >= 0 else {
                let reason = String(cString: strerror(errno))
                close(copy)
                throw CommandFailure.failed("The list cannot be read: \(reason).")
            }
            guard count > 0 else { return copy }
            var written = 0
            while written < count {
                let step = buffer[written..<count].withUnsafeBytes { write(copy, $0.baseAddress, $0.count) }
                guard step > 0 else {
                    close(copy)
                    throw uncopied(errno)
                }
                written += step
            }
        }
    }
}

/// A reader that returns the lines of a file from its beginning. It accepts lines that are a little longer than
/// ``Limits/urlLength``.
struct LineReader {
    static let chunk = 65_536
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var start = 0
    private var atEnd = false
    private var encoding = ListEncoding()

    init(descriptor: Int32) throws {
        guard lseek(descriptor, 0, SEEK_SET) >= 0 else {
            throw CommandFailure.failed("The list cannot be read again: \(String(cString: strerror(errno))).")
        }
        self.descriptor = descriptor
    }

    mutating func next() throws -> String? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                defer { start = end + 1 }
                return URLBytes.text(buffer[start..<end])
            }
            if atEnd {
                defer { start = buffer.count }
                return start < buffer.count ? URLBytes.text(buffer[start...]) : nil
            }
            guard buffer.count - start <= Limits.urlLength + Self.chunk else {
                throw CommandFailure.usage("A line of the list is longer than the longest valid URL.")
            }
            buffer.removeFirst(start)
            start = 0
            searched = buffer.count
            try fill()
        }
    }

    private mutating func fill() throws {
        var piece = [UInt8](repeating: 0, count: Self.chunk)
        var count = read(descriptor, &piece, piece.count)
        while count < 0 && errno == EINTR { count = read(descriptor, &piece, piece.count) }
        guard count >= 0 else {
            throw CommandFailure.failed("The list cannot be read: \(String(cString: strerror(errno))).")
        }
        atEnd = count == 0
        try encoding.decode(piece[..<count], isEnd: atEnd, into: &buffer)
    }
}
