import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct SetCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change the priority or the rate limit of transfers.",
        discussion: """
            A change also affects transfers that are running. 'nightshift limit' sets limits for all transfers together.

            Examples:
              nightshift set 12 --limit-rate 500K
              nightshift set 12-20 --priority 0.9
              nightshift set --all --limit-rate none
            """)

    @OptionGroup var selection: TaskSelection

    @Option(help: ArgumentHelp("From 0 to 1. Transfers with a higher priority start first.", valueName: "number"))
    var priority: Double?

    @Option(
        help: ArgumentHelp(
            "The maximum rate in bytes per second, such as 500K or 1.5M, or none for no limit.", valueName: "rate"),
        transform: Rate.parse)
    var limitRate: Rate?

    @OptionGroup var format: JSONOption

    func validate() throws {
        if priority == nil && limitRate == nil { throw ValidationError("Give --priority or --limit-rate.") }
        if let priority, !(0...1).contains(priority) { throw ValidationError("--priority must be from 0 to 1.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let ids = try await selection.ids(TaskState.unfinished, invocation.service)
        let change = TaskChange(priority: priority, rateLimit: limitRate?.bytesPerSecond)
        return try await invocation.act(.change, ids, change: change, json: format.json, verb: "changed")
    }
}
