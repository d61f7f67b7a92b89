import ArgumentParser
import NightshiftAPI

/// The tasks that a command is about: numbers, ranges, or all that it can be about.
struct TaskSelection: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Task numbers, also ranges such as 12-20.", valueName: "id"), transform: TaskRange.parse)
    var ranges: [TaskRange] = []

    @Flag(help: "Every task it can be done to.")
    var all = false

    func validate() throws {
        if ranges.isEmpty && !all { throw ValidationError("Say which tasks: numbers, or --all.") }
        if !ranges.isEmpty && all { throw ValidationError("Numbers and --all cannot be combined.") }
    }

    /// - Parameter states: what `--all` means for this command.
    func ids(_ states: [TaskState], _ service: Service) async throws -> [TaskID] {
        guard all else { return TaskRange.ids(ranges) }
        var ids: [TaskID] = []
        try await service.forEachTask(TaskState.query(states)) { ids.append($0.id) }
        return ids
    }
}

/// The `--json` document of the commands that change tasks.
struct ChangedTasks: Encodable {
    struct Refusal: Encodable {
        var id: TaskID
        var problem: Problem
    }

    /// As they are now.
    var tasks: [TaskStatus] = []
    /// Those that are forgotten now: of `remove` only.
    var removed: [TaskID]?
    var refused: [Refusal] = []
}

extension Invocation {
    /// Does something to each task; what the service refuses for one does not keep it from the others.
    func changeEach(
        _ ids: [TaskID], json: Bool, verb: String, _ change: (TaskID) async throws -> TaskStatus?
    ) async throws -> ExitStatus {
        var result = ChangedTasks()
        try await service.ready()
        for id in ids {
            do {
                if let task = try await change(id) {
                    result.tasks.append(task)
                    if !json { output.line("\(id) \(TaskText.name(task)): \(verb)") }
                } else {
                    result.removed = (result.removed ?? []) + [id]
                    if !json { output.line("\(id): \(verb)") }
                }
            } catch let problem as Problem {
                result.refused.append(ChangedTasks.Refusal(id: id, problem: problem))
                if !json {
                    errors.line("nightshift: \(id): " + TerminalText.escaped(problem.detail ?? problem.title))
                }
            }
        }
        if json { try self.json(result) }
        return result.refused.isEmpty ? .whole : .failed
    }
}
