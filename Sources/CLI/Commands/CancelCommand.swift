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
        let body = CancelRequest(producingResumeData: keep ? true : nil)
        return try await invocation.changeEach(ids, json: format.json, verb: "cancelled") { id in
            let task = try await service.client.post("/v1/tasks/\(id)/cancel", body, as: TaskStatus.self)
            if keep && !format.json {
                invocation.errors.line(
                    task.resumeData == nil
                        ? "\(id): nothing could be kept; the server gives no means to continue, or nothing had come."
                        : "\(id): go on with: nightshift \(task.kind.command) --continue \(id)")
            }
            return task
        }
    }
}
