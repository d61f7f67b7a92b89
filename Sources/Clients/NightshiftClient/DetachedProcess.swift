import CNightshift
import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A program that runs independently of this one. It continues when the terminal closes or when you press ^C.
package final class DetachedProcess: Sendable {
    let id: pid_t
    private let exit = Mutex<Int32?>(nil)

    /// The `waitpid` status of the program; nil until it has ended.
    package var exitStatus: Int32? { exit.withLock { $0 } }

    /// Starts `program`. Its output is appended to the file `log`.
    ///
    /// - Parameters:
    ///   - words: The arguments of the program.
    ///   - output: A descriptor for standard output that replaces the log.
    package init(
        program: String, arguments words: [String] = [], environment: [String: String], log: String,
        output: Int32? = nil
    ) throws {
        var arguments: [UnsafeMutablePointer<CChar>?] = ([program] + words).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            environment.map { OwnEnvironment.entry($0.key, $0.value) } + [nil]
        defer {
            for text in arguments + variables { free(text) }
        }
        var child = pid_t()
        let result = nightshift_spawn_detached(&child, program, &arguments, &variables, log, output ?? -1)
        guard result == 0 else {
            throw ServiceUnusable(message: "\(program) could not be started: \(String(cString: strerror(result)))")
        }
        id = child
        // A thread waits for the process, so that a service that ends before this program does not become a zombie.
        Thread.detachNewThread { [self] in
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0 && errno == EINTR {}
            exit.withLock { $0 = status }
        }
    }
}
