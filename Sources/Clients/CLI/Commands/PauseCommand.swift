import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct PauseCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause transfers until they are resumed.",
        discussion: """
            The transferred data is kept, and time limits do not run while a transfer is paused. An upload that the \
            server cannot continue starts again from the first byte. In this case the command first prints how much \
            has to be sent again, and on a terminal it asks you.

            Examples:
              nightshift pause 12
              nightshift pause --yes 12
              nightshift pause --all
            """)

    @OptionGroup var selection: TaskSelection

    @Flag(name: .shortAndLong, help: "Pause uploads without asking.")
    var yes = false

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let service = invocation.service
        let ids = try await selection.ids([.waiting, .running], service)
        let losses = UploadLosses(try await service.running(among: ids))
        if !losses.isEmpty && !format.json {
            invocation.errors.lines(losses.lines)
            if !yes, invocation.confirm(losses.question) == false {
                throw CommandFailure.failed("No transfer was paused.")
            }
        }
        return try await invocation.act(.suspend, ids, json: format.json, verb: "paused")
    }
}

/// The running uploads whose servers cannot resume them. If such an upload is paused, the bytes that were already sent
/// must be sent again.
struct UploadLosses {
    private var tasks: [TaskStatus]

    /// The maximum number of uploads that are listed one by one.
    private static let mostShown = 5

    init(_ tasks: [TaskStatus]) {
        self.tasks = tasks.filter { task in
            task.kind == .upload && task.state == .running && task.upload == nil && task.countOfBytesSent > 0
        }
    }

    var isEmpty: Bool { tasks.isEmpty }

    var lines: [String] {
        let shown = tasks.prefix(Self.mostShown).map { task in
            "\(task.id) \(TaskText.name(task)): The server cannot continue this upload. "
                + "\(QuantityText.size(task.countOfBytesSent)) will have to be sent again."
        }
        let rest = tasks.dropFirst(Self.mostShown)
        guard !rest.isEmpty else { return shown }
        let bytes = QuantityText.size(rest.reduce(0) { $0 + $1.countOfBytesSent })
        return shown + [
            "The same applies to \(rest.count) more uploads, with \(bytes): \(TaskRange.text(rest.map(\.id)))."
        ]
    }

    var question: String { tasks.count == 1 ? "Pause it?" : "Pause them?" }
}

extension Service {
    /// Returns the transfers among `ids` that are running.
    fileprivate func running(among ids: [TaskID]) async throws -> [TaskStatus] {
        let wanted = Set(ids)
        var found: [TaskStatus] = []
        try await forEachTask(TaskFilter(states: [.running])) { if wanted.contains($0.id) { found.append($0) } }
        return found
    }
}
