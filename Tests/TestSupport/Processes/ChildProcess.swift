import Foundation

/// A process that a test starts and waits for. It is killed when this object is deallocated, if not before.
package final class ChildProcess: Sendable {
    package let pid: Int32
    private let state: Watched<Exit?>

    /// The way in which a process ended.
    package enum Exit: Sendable, Hashable, CustomStringConvertible {
        case code(Int32)
        case signal(Int32)

        package var description: String {
            switch self {
            case .code(let code): "exit code \(code)"
            case .signal(let signal): "signal \(signal)"
            }
        }
    }

    /// The destination of standard output or standard error.
    package enum Output: Sendable {
        case discard
        case inherit
        /// A file to which output is appended. It is created if it does not exist.
        case file(String)
        /// A descriptor, which the caller keeps and closes.
        case descriptor(Int32)
    }

    /// Starts `executable`, which is a path, or a name that is looked up in `PATH`.
    ///
    /// `environment` replaces this process's environment if it is given. Standard input is empty unless `input` is a
    /// descriptor. If `ownGroup` is true, the process leads its own process group. If `diesWithParent` is true, it gets
    /// SIGTERM when this process ends in any way.
    package init(
        _ executable: String, arguments: [String] = [], environment: [String: String]? = nil,
        output: Output = .discard, errors: Output = .discard, input: Int32? = nil, directory: String? = nil,
        ownGroup: Bool = false, diesWithParent: Bool = true
    ) throws {
        let plan = SpawnPlan(
            command: (diesWithParent ? ["setpriv", "--pdeathsig", "TERM", "--"] : [])
                + (directory.map { ["env", "--chdir", $0] } ?? []) + [executable] + arguments,
            environment: environment ?? ProcessInfo.processInfo.environment, output: output, errors: errors,
            input: input, ownGroup: ownGroup)
        let started = Watched<Result<Int32, SystemError>?>(nil)
        let state = Watched<Exit?>(nil)
        // The thread that starts the process also waits for it. The parent-death signal is sent when the *thread* that
        // is the parent ends.
        Thread.detachNewThread {
            let result = plan.spawn()
            started.update { $0 = result }
            guard case .success(let pid) = result else { return }
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7f
            state.update { $0 = signal == 0 ? .code(status >> 8 & 0xff) : .signal(signal) }
        }
        _ = started.block { $0 != nil }
        guard let result = started.read({ $0 }) else { throw SystemError("posix_spawn", code: ETIMEDOUT) }
        pid = try result.get()
        self.state = state
    }

    deinit {
        kill(SIGKILL)
    }

    /// The way in which the process ended, or nil while it runs.
    package var exit: Exit? { state.read { $0 } }

    /// Sends a signal, unless the process has ended.
    package func kill(_ signal: Int32 = SIGTERM) {
        // The kernel does not reuse the ID of an ended process quickly enough to matter here.
        if exit == nil { _ = Foundation.kill(pid, signal) }
    }

    /// Sends SIGSTOP, and suspends until every thread has stopped. The threads continue to run until one of them has
    /// received the signal.
    package func halt() async throws {
        kill(SIGSTOP)
        let threads = "/proc/\(pid)/task"
        try await eventually("process \(pid) to stand still") {
            try FileManager.default.contentsOfDirectory(atPath: threads).compactMap { Int32($0) }
                .allSatisfy { ProcessStat($0)?.state ?? "T" == "T" }
        }
    }

    /// Suspends until the process has ended. Throws ``WaitedTooLong`` when the time is over, and leaves the process
    /// running.
    package func waitForExit(within bound: Duration = .seconds(60)) async throws -> Exit {
        try await state.wait(within: bound, for: "the exit of process \(pid)") { $0 != nil }
        return exit ?? .signal(0)
    }

    /// Blocks this thread until the process has ended. Returns nil if the ``WaitingTime`` was over first.
    package func blockUntilExit(within bound: Duration) -> Exit? {
        _ = state.block(within: bound) { $0 != nil }
        return exit
    }

    /// Asks the process to end, and kills it if it does not end within five seconds. Blocks this thread.
    package func stop(_ signal: Int32 = SIGTERM) {
        kill(signal)
        if blockUntilExit(within: .seconds(5)) == nil {
            kill(SIGKILL)
            _ = blockUntilExit(within: .seconds(5))
        }
    }
}

extension ChildProcess {
    /// The result of a process that ran to its end.
    package struct Outcome: Sendable {
        package let exit: Exit
        package let output: String
        package let errors: String

        package init(exit: Exit, output: String, errors: String) {
            self.exit = exit
            self.output = output
            self.errors = errors
        }

        /// The exit code, or nil when a signal ended it.
        package var code: Int32? {
            if case .code(let code) = exit { code } else { nil }
        }
    }

    /// Runs a process to its end, and returns its output. Kills the process and throws ``WaitedTooLong`` when the
    /// ``WaitingTime`` is over.
    package static func run(
        _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        directory: String? = nil, input: String? = nil, within bound: Duration = .seconds(60)
    ) async throws -> Outcome {
        let scratch = try TemporaryDirectory()
        let (output, errors) = (scratch.path("out"), scratch.path("err"))
        var descriptor: Int32?
        if let input {
            descriptor = open(try scratch.write(input, to: "in"), O_RDONLY | O_CLOEXEC)
        }
        defer {
            if let descriptor { close(descriptor) }
        }
        let process = try ChildProcess(
            executable, arguments: arguments, environment: environment, output: .file(output), errors: .file(errors),
            input: descriptor, directory: directory)
        let exit = try await process.waitForExit(within: bound)
        return Outcome(
            exit: exit, output: String(decoding: try fileBytes(output), as: UTF8.self),
            errors: String(decoding: try fileBytes(errors), as: UTF8.self))
    }
}
