import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct SetCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change the priority or rate limit of transfers, also while they run.",
        discussion: """
            For all transfers together there is 'nightshift limit'.

            Examples:
              nightshift set 12 --limit-rate 500K
              nightshift set 12-20 --priority 0.9
              nightshift set --all --limit-rate none
            """)

    @OptionGroup var selection: TaskSelection

    @Option(help: ArgumentHelp("0 to 1; higher goes first.", valueName: "number"))
    var priority: Double?

    @Option(
        help: ArgumentHelp("Bytes per second, such as 500K or 1.5M, or none.", valueName: "rate"),
        transform: Rate.parse)
    var limitRate: Rate?

    @OptionGroup var format: JSONOption

    func validate() throws {
        if priority == nil && limitRate == nil { throw ValidationError("Say what to set: --priority or --limit-rate.") }
        if let priority, !(0...1).contains(priority) { throw ValidationError("A priority is from 0 to 1.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let ids = try await selection.ids(TaskState.unfinished, invocation.service)
        let change = TaskChange(priority: priority, rateLimit: limitRate?.bytesPerSecond)
        return try await invocation.act(.change, ids, change: change, json: format.json, verb: "changed")
    }
}
