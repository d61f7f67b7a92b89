import Foundation
import NightshiftAPI
import NightshiftClient

/// An operation that sends tasks to the service, and follows the tasks unless `--detach` is given.
struct Submission: Sendable {
    var invocation: Invocation
    var options: WatchingOptions
    var owner: AppOptions
    /// Whether the bytes go to standard output. If so, no paths are written there, and the tasks are removed when this
    /// command ends.
    var isForStandardOutput = false

    /// The maximum number of tasks in one request. Each request is one transaction, so the first lines of a list are
    /// soon on disk.
    static let batch = 1_000

    static func name(_ task: TaskRequest) -> String {
        if let name = task.destination?.filename { return TerminalText.escaped(name) }
        if let source = task.source { return TerminalText.escaped(TaskText.lastComponent(source)) }
        return task.url.map { TaskText.name(ofURL: $0) } ?? "?"
    }

    func run(names: [String], _ tasks: [TaskRequest]) async throws -> ExitStatus {
        try await submitted(names: names, tasks).status
    }

    /// Submits tasks as ``run(names:_:)`` does, and also returns their ids.
    ///
    /// - Parameter accepted: called with the ids before the tasks are followed.
    func submitted(
        names: [String], _ tasks: [TaskRequest], accepted: ([TaskID]) -> Void = { _ in }
    ) async throws -> (status: ExitStatus, ids: [TaskID]) {
        let service = invocation.service
        let lastEntry = try await journalEnd(service)
        let answer = try await enqueue(tasks, service)
        let (ids, joined) = (answer.ids, answer.joined ?? [])
        accepted(ids)
        if !joined.isEmpty { try await take(up: joined, tasks.first?.kind ?? .download) }
        if options.detach {
            try printIDs(ids, joined)
            warnOfLogout()
            return (.whole, ids)
        }
        var followed = FollowedTasks()
        for (id, (name, task)) in zip(ids, zip(names, tasks)) {
            followed.add(FollowedTask(id: id, kind: task.kind, name: name))
        }
        // New journal entries do not contain earlier decisions about a joined task, so the status of the task is read.
        return (try await follow(followed, accepted: ids, joined: joined, joined.isEmpty ? lastEntry : nil), ids)
    }

    /// Submits the tasks of a list that may be too long for memory.
    func run(list: borrowing URLList, _ tasks: ([String]) throws -> [TaskRequest]) async throws -> ExitStatus {
        let service = invocation.service
        let lastEntry = try await journalEnd(service)
        var followed = FollowedTasks()
        var accepted: [TaskID] = []
        var joined: [TaskID] = []
        var seen: Set<Int> = []
        do {
            try await list.forEachBatch(of: Self.batch) { urls in
                var requests = try tasks(urls)
                // If several lines of a list are equal, each gets its own transfer. The transfer is not joined to a
                // transfer of an earlier batch.
                for index in urls.indices where seen.contains(urls[index].hashValue) { requests[index].ifSame = nil }
                seen.formUnion(urls.map(\.hashValue))
                let answer = try await enqueue(requests, service)
                let ids = answer.ids
                accepted += ids
                joined += answer.joined ?? []
                if options.detach {
                    if !options.json { try printIDs(ids) }
                } else {
                    for (id, request) in zip(ids, requests) {
                        followed.add(FollowedTask(id: id, kind: request.kind, name: Self.name(request)))
                    }
                }
            }
        } catch {
            if !accepted.isEmpty {
                if options.json { try? printAccepted(accepted) }
                tellAccepted(accepted)
            }
            throw error
        }
        if !joined.isEmpty { try await take(up: joined, .download) }
        if options.detach {
            if options.json { try printIDs(accepted, joined) }
            warnOfLogout()
            return .whole
        }
        return try await follow(followed, accepted: accepted, joined: joined, joined.isEmpty ? lastEntry : nil)
    }

    private func enqueue(_ tasks: [TaskRequest], _ service: Service) async throws -> EnqueueResponse {
        do {
            return try await service.enqueue(tasks, for: owner)
        } catch let failure as ServiceUnreachable {
            // The request is not repeated, because a second request could transfer everything twice.
            throw CommandFailure.unreachable(
                failure.message + "\nIt is not known whether the transfers were accepted. 'nightshift list' shows it.")
        }
    }

    private func journalEnd(_ service: Service) async throws -> Int64 {
        try await service.fetch(.status).lastJournalEntry
    }

    /// Follows a transfer that an earlier command started, and which may have ended.
    func follow(_ task: TaskStatus) async throws -> ExitStatus {
        if options.detach {
            try printIDs([task.id], [task.id])
            return .whole
        }
        var followed = FollowedTasks()
        followed.add(FollowedTask(id: task.id, kind: task.kind, name: TaskText.name(task)))
        return try await follow(followed, accepted: [task.id], joined: [task.id], nil)
    }

    /// Prints which transfers already existed, and resumes a transfer to standard output that ^C has paused.
    private func take(up ids: [TaskID], _ kind: TaskKind) async throws {
        let client = invocation.service.client
        if isForStandardOutput {
            _ = try await client.send(.act(TaskActionRequest(.resume, ids)))
            invocation.errors.line("Continuing transfer \(TaskRange.text(ids)).")
            return
        }
        guard !options.json else { return }
        invocation.errors.line(Self.sentence(joined: ids, kind, isFollowed: !options.detach))
        let paused = try? await client.send(.tasks(TaskFilter(tasks: Array(ids.prefix(100)), states: [.suspended])))
        guard let tasks = paused?.tasks, !tasks.isEmpty else { return }
        let numbers = TaskRange.text(tasks.map(\.id))
        invocation.errors.line("Paused: \(numbers). Continue with: nightshift resume \(numbers)")
    }

    static func sentence(joined ids: [TaskID], _ kind: TaskKind, isFollowed: Bool) -> String {
        let numbers = TaskRange.text(ids)
        guard ids.count == 1 else {
            return "\(ids.count) of these transfers were already running: \(numbers)."
        }
        return "Transfer \(numbers) is already \(kind == .upload ? "uploading" : "downloading") this file."
            + (isFollowed ? " Following it." : " Follow it with: nightshift watch \(numbers)")
    }

    /// Informs a user at a terminal that the detached transfers pause at log-out.
    private func warnOfLogout() {
        guard invocation.errors.isTerminal, !options.quiet, !options.json, invocation.hasDefaultHome,
            invocation.userManager.endsAtLogout
        else { return }
        invocation.errors.line(
            "If you log out, transfers pause until your next login. To continue them, run: loginctl enable-linger")
    }

    private func printIDs(_ ids: [TaskID], _ joined: [TaskID] = []) throws {
        if options.json {
            try invocation.json(EnqueueResponse(ids: ids, joined: joined))
        } else {
            invocation.output.write(ids.map { "\($0)\n" }.joined())
        }
        if invocation.output.failure() != nil { tellAccepted(ids) }
    }

    /// Prints the ids as JSON, for `--json`.
    private func printAccepted(_ ids: [TaskID]) throws {
        if options.detach { return try invocation.json(EnqueueResponse(ids: ids)) }
        var reporter = invocation.reporter(json: true, quiet: options.quiet)
        try reporter.accepted(ids, joined: [])
    }

    /// Prints the ids on standard error, for users who do not see the ids on standard output.
    private func tellAccepted(_ ids: [TaskID]) {
        let accepted = ids.count == 1 ? "1 transfer was" : "\(ids.count) transfers were"
        let subject = ids.count == 1 ? "It continues" : "They continue"
        invocation.errors.line(
            "\(accepted) accepted before the error. \(subject): \(TaskRange.text(ids)).")
    }

    private func follow(
        _ tasks: FollowedTasks, accepted: [TaskID], joined: [TaskID] = [], _ lastEntry: Int64?
    ) async throws -> ExitStatus {
        var reporter = invocation.reporter(
            json: options.json, quiet: options.quiet, showsPaths: !isForStandardOutput)
        try reporter.accepted(accepted, joined: joined)
        return try await Following(
            invocation: invocation, tasks: tasks, lastEntry: lastEntry, reporter: reporter,
            leavesTasks: !isForStandardOutput
        ).run().status
    }
}
