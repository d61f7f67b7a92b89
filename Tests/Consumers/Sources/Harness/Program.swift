import Foundation

/// Another program that runs at the same time. The caller can wait for each line of its output.
public final class Program: @unchecked Sendable {
    // This is unchecked because no property changes after the initialiser.

    /// The first lines of the program's standard output, as many as the caller requested.
    public let lines: [Outcome<String>]
    private let process = Process()

    /// - Parameter errors: The path of the file for the program's standard error.
    public init(
        _ path: String, _ arguments: [String], environment: [String: String], errors: String, lines count: Int = 0
    ) throws {
        lines = (0..<count).map { Outcome("line \($0 + 1) of \(path)") }
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = environment
        process.standardOutput = output
        _ = FileManager.default.createFile(atPath: errors, contents: nil)
        process.standardError = FileHandle(forWritingAtPath: errors)
        try process.run()
        let (reader, lines) = (output.fileHandleForReading, lines)
        Thread.detachNewThread {
            var text = Data()
            var next = 0
            while true {
                let piece = reader.availableData
                if piece.isEmpty { return }
                text.append(piece)
                while let end = text.firstIndex(of: UInt8(ascii: "\n")) {
                    if next < lines.count { lines[next].give(String(decoding: text[..<end], as: UTF8.self)) }
                    next += 1
                    text = Data(text[(end + 1)...])
                }
            }
        }
    }

    /// Sends SIGTERM to the program.
    public func stop() {
        if process.isRunning { process.terminate() }
    }
}
