import Foundation

/// The error when a program that a test needs could not run.
package struct CannotRun: Error, CustomStringConvertible {
    package let description: String

    init(description: String) {
        self.description = description
    }

    /// - Parameter log: the file with the program's last output.
    init(_ program: String, ended exit: ChildProcess.Exit, log: String? = nil) {
        let words = log.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) }
        description = "\(program) ended with \(exit)" + (words.map { ": \($0.suffix(1_000))" } ?? "")
    }
}
