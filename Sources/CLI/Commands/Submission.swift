import Foundation
import NightshiftAPI
import NightshiftClient

/// Hands tasks to the service and waits for them, or not.
struct Submission: Sendable {
    var invocation: Invocation
    var options: WatchingOptions
    var owner: AppOptions
    /// Whether the bytes go to standard output: then no paths do, and the tasks end with this command.
    var isForStandardOutput = false

    /// Tasks in one request: each is one transaction, and a line of the list is soon on disk.
    static let batch = 1_000

    static func name(_ task: TaskRequest) -> String {
        if let name = task.destination?.filename { return TerminalText.escaped(name) }
        if let source = task.source { return TerminalText.escaped(TaskText.lastComponent(source)) }
        return task.url.map { TaskText.name(ofURL: $0) } ?? "?"
    }

    func run(names: [String], _ tasks: [TaskRequest]) async throws -> ExitStatus {
        try await submitted(names: names, tasks).status
    }

    /// As ``run(names:_:)``, with the ids.
    ///
    /// - Parameter accepted: learns the ids before the tasks are followed.
    func submitted(
        names: [String], _ tasks: [TaskRequest], accepted: ([TaskID]) -> Void = { _ in }
    ) async throws -> (status: ExitStatus, ids: [TaskID]) {
        let service = invocation.service
        let lastEntry = try await journalEnd(service)
        let answer = try await enqueue(tasks, service)
        let (ids, joined) = (answer.ids, answer.joined ?? [])
        accepted(ids)
        if !options.json { for id in joined { tellJoined(id) } }
        if options.detach {
            try printIDs(ids, joined)
            return (.whole, ids)
        }
        var followed = FollowedTasks()
        for (id, (name, task)) in zip(ids, zip(names, tasks)) {
            followed.add(FollowedTask(id: id, kind: task.kind, name: name))
        }
        // What a joined task has done before is in no entry that is still to come.
        return (try await follow(followed, accepted: ids, joined: joined, joined.isEmpty ? lastEntry : nil), ids)
    }

    /// The same for a list that may be longer than memory likes.
    func run(list: borrowing URLList, _ tasks: ([String]) throws -> [TaskRequest]) async throws -> ExitStatus {
        let service = invocation.service
        let lastEntry = try await journalEnd(service)
        var followed = FollowedTasks()
        var accepted: [TaskID] = []
        do {
            try await list.forEachBatch(of: Self.batch) { urls in
                let requests = try tasks(urls)
                let ids = try await enqueue(requests, service).ids
                accepted += ids
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
        if options.detach {
            if options.json { try printIDs(accepted) }
            return .whole
        }
        return try await follow(followed, accepted: accepted, lastEntry)
    }

    private func enqueue(_ tasks: [TaskRequest], _ service: Service) async throws -> EnqueueResponse {
        do {
            return try await service.enqueue(tasks, for: owner)
        } catch let failure as ServiceUnreachable {
            // Asking again could transfer everything twice.
            throw CommandFailure.unreachable(
                failure.message + "\nWhether the tasks were accepted is not known; 'nightshift list' shows it.")
        }
    }

    private func journalEnd(_ service: Service) async throws -> Int64 {
        try await service.fetch(.status).lastJournalEntry
    }

    private func tellJoined(_ id: TaskID) {
        invocation.errors.line(
            "Task \(id) is already fetching this file."
                + (options.detach ? " Follow it with: nightshift watch \(id)" : " Following it."))
    }

    private func printIDs(_ ids: [TaskID], _ joined: [TaskID] = []) throws {
        if options.json {
            try invocation.json(EnqueueResponse(ids: ids, joined: joined))
        } else {
            invocation.output.write(ids.map { "\($0)\n" }.joined())
        }
        if invocation.output.failure() != nil { tellAccepted(ids) }
    }

    /// In the form in which a program expects them that has asked for JSON.
    private func printAccepted(_ ids: [TaskID]) throws {
        if options.detach { return try invocation.json(EnqueueResponse(ids: ids)) }
        var reporter = invocation.reporter(json: true, quiet: options.quiet)
        try reporter.accepted(ids, joined: [])
    }

    /// For whoever does not learn it from standard output.
    private func tellAccepted(_ ids: [TaskID]) {
        let count = ids.count == 1 ? "1 task" : "\(ids.count) tasks"
        invocation.errors.line("Accepted before that, and going on: \(TaskRange.text(ids)) (\(count)).")
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
