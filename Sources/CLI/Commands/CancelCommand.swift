import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct CancelCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "End transfers for good.",
        discussion: """
            What has come or gone so far is thrown away, unless --keep is given and the server allows transfers to be \
            continued: then 'nightshift get --continue ID' or 'nightshift put --continue ID' goes on from there.

            Examples:
              nightshift cancel 12
              nightshift cancel --keep 12
              nightshift cancel --all
            """)

    @OptionGroup var selection: TaskSelection

    @Flag(help: "Keep what has come, or what the server has, to be continued later.")
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
                    ? "\(task.id): nothing could be kept; the server gives no means to continue, or nothing had come."
                    : "\(task.id): go on with: nightshift \(task.kind.command) --continue \(task.id)")
        }
    }
}
