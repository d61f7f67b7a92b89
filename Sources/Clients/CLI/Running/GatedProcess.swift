import Foundation
import NightshiftClient
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A child process that executes its program only after ``begin()``.
///
/// Until then, the process waits in `nightshift task exec`, because Swift code cannot wait between fork and exec.
final class GatedProcess: Sendable {
    let id: pid_t
    /// A stream of the stops and the end of the process. The stream finishes after the end.
    let events: AsyncStream<Event>
    private let gate: Mutex<Int32?>

    enum Event: Hashable, Sendable {
        /// The event that this signal stopped the process.
        case stopped(Int32)
        case ended(End)
    }

    enum End: Hashable, Sendable {
        case exited(Int32)
        case signalled(Int32)
    }

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - executable: the path of `nightshift` itself.
    ///   - leadsGroup: whether the process gets its own process group.
    init(
        executable: String, program: String, arguments: [String], environment: [String: String], leadsGroup: Bool
    ) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Self.failure("A pipe could not be created", errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let words = [executable, "task", "exec", String(ends[0]), program, "--"] + arguments
        do {
            id = try Self.spawn(words, environment, inheriting: ends[0], leadsGroup: leadsGroup)
        } catch {
            close(ends[1])
            throw error
        }
        gate = Mutex(ends[1])
        let (events, continuation) = AsyncStream<Event>.makeStream()
        self.events = events
        // Only this thread waits for the child. Therefore the process id stays valid until this thread has seen the
        // end.
        let child = id
        Thread.detachNewThread { Self.watch(child, continuation) }
    }

    /// Lets the process execute its program.
    func begin() {
        guard let gate = takeGate() else { return }
        var byte: UInt8 = 1
        // The process may have been killed while it waited, so the write must not raise SIGPIPE.
        let before = signal(SIGPIPE, SIG_IGN)
        _ = write(gate, &byte, 1)
        signal(SIGPIPE, before)
        close(gate)
    }

    /// Ends the process if it has not executed its program yet.
    func abandon() {
        if let gate = takeGate() { close(gate) }
    }

    private func takeGate() -> Int32? {
        gate.withLock { gate in
            defer { gate = nil }
            return gate
        }
    }

    private static func watch(_ child: pid_t, _ continuation: AsyncStream<Event>.Continuation) {
        while true {
            var status: Int32 = 0
            let result = waitpid(child, &status, WUNTRACED)
            if result < 0 && errno == EINTR { continue }
            guard result == child else { break }
            let signal = status & 0x7f
            if status & 0xff == 0x7f {
                continuation.yield(.stopped((status >> 8) & 0xff))
            } else {
                continuation.yield(.ended(signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal)))
                break
            }
        }
        continuation.finish()
    }

    private static func spawn(
        _ words: [String], _ environment: [String: String], inheriting descriptor: Int32, leadsGroup: Bool
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        // Duplicating a descriptor to itself clears its close-on-exec flag.
        posix_spawn_file_actions_adddup2(&actions, descriptor, descriptor)
        // The signal mask of this thread is not that of the user's shell, so it is set here. If a stop signal stopped
        // the child before its exec, posix_spawn would not return, and the shell would wait forever. Therefore stop
        // signals are blocked until the program is executed.
        var mask = sigset_t()
        sigemptyset(&mask)
        for number in StopSignals.numbers { sigaddset(&mask, number) }
        posix_spawnattr_setsigmask(&attributes, &mask)
        var flags = POSIX_SPAWN_SETSIGMASK
        if leadsGroup { flags |= POSIX_SPAWN_SETPGROUP }
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { OwnEnvironment.entry($0.key, $0.value) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var child = pid_t()
        let result = posix_spawn(&child, words[0], &actions, &attributes, arguments, variables)
        guard result == 0 else { throw failure("\(words[0]) could not be started", result) }
        return child
    }

    private static func failure(_ what: String, _ reason: Int32) -> CommandFailure {
        .failed("\(what): \(String(cString: strerror(reason)))")
    }
}
