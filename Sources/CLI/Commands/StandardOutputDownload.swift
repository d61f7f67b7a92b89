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
/// The service keeps the bytes until they are whole and their checksum is right. Then they are written, and the task is removed.
/// It is removed as well where it fails and where nobody reads. ^C pauses it once bytes are here, since nobody would read them; the
/// same command continues it.
struct StandardOutputDownload: Sendable {
    var submission: Submission

    /// Bytes that a terminal is shown at most.
    static let terminalLimit = 1 << 20

    private var invocation: Invocation { submission.invocation }

    func run(name: String, _ task: TaskRequest) async throws -> ExitStatus {
        // A reader that goes away is an error of a write, and no end before the task is removed.
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

    /// Whether the bytes that have come are kept for the next time.
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

    /// What cannot be removed now ends and is removed by its owner: the command has done what it could.
    private func forget(_ ids: [TaskID]) async {
        let client = invocation.service.client
        // Also where this task was cancelled by ^C.
        await Task {
            _ = try? await client.send(.act(TaskActionRequest(.cancel, ids)))
            _ = try? await client.send(.act(TaskActionRequest(.remove, ids)))
        }.value
    }
}
