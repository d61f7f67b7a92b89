import ArgumentParser
import NightshiftAPI
import NightshiftClient

/// The transfers on which a command acts: numbers, ranges, or all transfers to which the command applies.
struct TaskSelection: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Transfer numbers, or ranges such as 12-20.", valueName: "id"),
        completion: DynamicCompletion.tasks.kind,
        transform: TaskRange.parse)
    var ranges: [TaskRange] = []

    @Flag(help: "All transfers to which the command applies.")
    var all = false

    func validate() throws {
        if ranges.isEmpty && !all { throw ValidationError("Give transfer numbers, or --all.") }
        if !ranges.isEmpty && all { throw ValidationError("Transfer numbers and --all cannot be combined.") }
    }

    /// Returns the ids of the selected transfers.
    ///
    /// - Parameter states: the states of the transfers that `--all` selects.
    func ids(_ states: [TaskState], _ service: Service) async throws -> [TaskID] {
        guard all else { return TaskRange.ids(ranges) }
        var ids: [TaskID] = []
        try await service.forEachTask(TaskFilter(states: states)) { ids.append($0.id) }
        return ids
    }
}

/// The document that commands that change tasks print with `--json`.
struct ChangedTasks: Encodable {
    /// The new states of the tasks.
    var tasks: [TaskStatus] = []
    /// The ids of the tasks that were removed. Only the command `remove` sets this.
    var removed: [TaskID]?
    var refused: [RefusedTask] = []
}

extension Invocation {
    /// Performs an action on all tasks, with many tasks in each request. If the action is refused for one task, it is
    /// still performed on the others.
    ///
    /// - Parameter changed: called for each changed task before the change is printed.
    func act(
        _ action: TaskAction, _ ids: [TaskID], producingResumeData: Bool? = nil, change: TaskChange? = nil, json: Bool,
        verb: String, changed: (TaskStatus) -> Void = { _ in }
    ) async throws -> ExitStatus {
        var report = ChangeReport(invocation: self, json: json, verb: verb)
        try await service.ready()
        var rest = ids[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Limits.tasksPerAction))
            rest = rest.dropFirst(part.count)
            let request = TaskActionRequest(
                action, part, producingResumeData: producingResumeData, change: change)
            let answer = try await service.client.send(.act(request))
            for result in answer.results {
                if let problem = result.problem {
                    report.refused(result.id, problem)
                } else {
                    if let task = result.task { changed(task) }
                    report.changed(result.id, result.task)
                }
            }
        }
        return try report.end()
    }
}

/// A report that prints each changed task.
private struct ChangeReport {
    let invocation: Invocation
    let json: Bool
    let verb: String
    private var result = ChangedTasks()

    init(invocation: Invocation, json: Bool, verb: String) {
        self.invocation = invocation
        self.json = json
        self.verb = verb
    }

    /// Prints the new state of a task.
    ///
    /// - Parameter task: the task, or nil if it was removed.
    mutating func changed(_ id: TaskID, _ task: TaskStatus?) {
        guard json else {
            invocation.output.line(task.map { "\(id) \(TaskText.name($0)): \(verb)" } ?? "\(id): \(verb)")
            return
        }
        if let task {
            result.tasks.append(task)
        } else {
            result.removed = result.removed ?? []
            result.removed?.append(id)
        }
    }

    mutating func refused(_ id: TaskID, _ problem: Problem) {
        result.refused.append(RefusedTask(id: id, problem: problem))
    }

    func end() throws -> ExitStatus {
        if json {
            try invocation.json(result)
        } else {
            invocation.errors.lines(RefusalText.lines(result.refused))
        }
        return result.refused.isEmpty ? .whole : .failed
    }
}
