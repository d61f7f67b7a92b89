import CNightshift
import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A program that is started independently of this one: a closing terminal or ^C does not end it.
package final class DetachedProcess: Sendable {
    let id: pid_t
    private let exit = Mutex<Int32?>(nil)

    /// The `waitpid` status after it has ended.
    package var exitStatus: Int32? { exit.withLock { $0 } }

    /// Starts `program`. Its output is appended to the file `log`.
    ///
    /// - Parameters:
    ///   - words: the arguments of the program.
    ///   - output: a descriptor for standard output instead of the log.
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
