import CNightshift
import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A program started so that nothing of this one holds it: a closing terminal and ^C go by.
final class DetachedProcess: Sendable {
    let id: pid_t
    private let exit = Mutex<Int32?>(nil)

    /// The `waitpid` status once it has ended.
    var exitStatus: Int32? { exit.withLock { $0 } }

    /// Starts `program` without arguments; its words go to the end of the file `log`.
    init(program: String, environment: [String: String], log: String) throws {
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for text in arguments + variables { free(text) }
        }
        var child = pid_t()
        let result = nightshift_spawn_detached(&child, program, &arguments, &variables, log)
        guard result == 0 else {
            throw ServiceUnusable(message: "\(program) could not be started: \(String(cString: strerror(result)))")
        }
        id = child
        // Waiting for it on a thread of its own: a service that ends while this program watches leaves no zombie.
        Thread.detachNewThread { [self] in
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0 && errno == EINTR {}
            exit.withLock { $0 = status }
        }
    }
}
