import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct CancelCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "End transfers for good.",
        discussion: """
            The data transferred so far is deleted. With --keep it is kept if the server supports resuming; then \
            'nightshift get --continue ID' or 'nightshift put --continue ID' continues from there.

            Examples:
              nightshift cancel 12
              nightshift cancel --keep 12
              nightshift cancel --all
            """)

    @OptionGroup var selection: TaskSelection

    @Flag(help: "Keep the transferred data, so that the transfer can be continued later.")
    var keep = false

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let service = invocation.service
        let ids = try await selection.ids(TaskState.unfinished, service)
        return try await invocation.act(
            .cancel, ids, producingResumeData: keep ? true : nil, json: format.json, verb: "cancelled"
        ) { task in
            guard keep, !format.json else { return }
            invocation.errors.line(
                task.resumeData == nil
                    ? "\(task.id): no data was kept, because none was transferred or the server does not support resuming."
                    : "\(task.id): continue with: nightshift \(task.kind.command) --continue \(task.id)")
        }
    }
}
