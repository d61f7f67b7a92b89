import Foundation

/// Something that a test needs did not run.
package struct CannotRun: Error, CustomStringConvertible {
    package let description: String

    init(description: String) {
        self.description = description
    }

    /// - Parameter log: the file that its last words are in.
    init(_ program: String, ended exit: ChildProcess.Exit, log: String? = nil) {
        let words = log.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) }
        description = "\(program) ended with \(exit)" + (words.map { ": \($0.suffix(1_000))" } ?? "")
    }
}
