import Foundation
import NightshiftAPI
import NightshiftClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A download to standard output: `get -o -`.
///
/// The service keeps the bytes until the file is complete and its checksum is verified. Then the bytes are written, and
/// the task is removed. The task is also removed if it fails or if the reader has closed the pipe. After ^C, a task
/// that has received bytes is paused, and the same command resumes the task.
struct StandardOutputDownload: Sendable {
    var submission: Submission

    /// The maximum number of bytes that are written to a terminal.
    static let terminalLimit = 1 << 20

    private var invocation: Invocation { submission.invocation }

    func run(name: String, _ task: TaskRequest) async throws -> ExitStatus {
        // Writing to a closed pipe must cause an error. With the default action, SIGPIPE would end this program before
        // the task is removed.
        signal(SIGPIPE, SIG_IGN)
        var submission = submission
        submission.isForStandardOutput = true
        var task = task
        task.ifSame = .joinSuspended
        var ids: [TaskID] = []
        do {
            let status = try await submission.submitted(names: [name], [task], accepted: { ids = $0 }).status
            if status == .whole { for id in ids { try await write(id) } }
            if status == .interrupted, let id = ids.first, await pause(id) { return status }
            await forget(ids)
            return status
        } catch {
            await forget(ids)
            throw error
        }
    }

    private func write(_ id: TaskID) async throws {
        let output = invocation.output
        guard output.isTerminal else {
            return try await invocation.service.client.content(of: id) { bytes in
                output.write(Data(bytes))
                return !output.isAbandoned()
            }
        }
        var whole: [UInt8] = []
        try await invocation.service.client.content(of: id) { bytes in
            whole += bytes
            return whole.count <= Self.terminalLimit
        }
        guard whole.count <= Self.terminalLimit, !whole.contains(0), let text = String(validating: whole, as: UTF8.self)
        else {
            throw CommandFailure.failed(
                "The file is binary or longer than 1 MiB, so it is not shown on the terminal. Write it to a file or a "
                    + "program, such as with -o FILE or | less.")
        }
        output.write(TerminalText.escaped(text, keepingNewlines: true))
    }

    /// Pauses the task if it has received bytes, and returns whether the task was paused.
    private func pause(_ id: TaskID) async -> Bool {
        let client = invocation.service.client
        return await Task {
            guard let task = try? await client.send(.task(id)), !task.state.isTerminal, task.countOfBytesReceived > 0,
                let answer = try? await client.send(.act(TaskActionRequest(.suspend, [id]))),
                answer.results.contains(where: { $0.task?.state == .suspended })
            else { return false }
            invocation.errors.lines([
                "Transfer \(id) is paused. \(QuantityText.size(task.countOfBytesReceived)) were received.",
                "To continue: run the same command again",
                "To cancel:   nightshift cancel \(id)",
            ])
            return true
        }.value
    }

    /// Cancels and removes the tasks. Errors are ignored, because the user can remove a remaining task later.
    private func forget(_ ids: [TaskID]) async {
        let client = invocation.service.client
        // The requests must be sent even if ^C has cancelled the current Swift task.
        await Task {
            _ = try? await client.send(.act(TaskActionRequest(.cancel, ids)))
            _ = try? await client.send(.act(TaskActionRequest(.remove, ids)))
        }.value
    }
}
