import Foundation
import TestSupport

extension Service {
    /// Makes system calls of the service fail, or kill it, from now on. `injection` has the syntax of strace, which
    /// counts calls per thread.
    ///
    /// - Returns: the strace process, which logs the calls to `trace` among the service's files.
    func inject(_ call: String, _ injection: String) async throws -> ChildProcess {
        guard let pid = process?.pid else { throw NotPossibleHere(description: "There is no service.") }
        let tracer = try ChildProcess(
            "strace",
            arguments: [
                "--attach=\(pid)", "--follow-forks", "--quiet=all", "--output=\(scratch.path("trace"))",
                "--trace=\(call)", "--inject=\(call):\(injection)",
            ])
        try await eventually("strace to have all threads") {
            let threads = names(in: "/proc/\(pid)/task")
            return !threads.isEmpty
                && threads.allSatisfy { thread in
                    let status = try? String(contentsOfFile: "/proc/\(pid)/task/\(thread)/status", encoding: .utf8)
                    return status?.contains("TracerPid:\t\(tracer.pid)\n") ?? true
                }
        }
        return tracer
    }
}
