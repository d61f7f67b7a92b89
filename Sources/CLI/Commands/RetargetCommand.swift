import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RetargetCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "retarget",
        abstract: "Give a transfer another URL, and keep what is here.",
        discussion: """
            For a download whose URL has expired, also when it has failed with that, or that another server has as well. \
            What is here is kept where the same entity tag, or the length and the last 64 KiB fetched again, show that \
            it belongs to the file there. Otherwise it begins again, and 'nightshift why' says so.

            Fields of the request and the name and password stay with it where the new URL is of the same scheme, host \
            and port; elsewhere nothing secret goes along unless it is given here.

            Examples:
              nightshift retarget 12 'https://example.org/big.iso?signature=4711'
              nightshift retarget 12 https://mirror.example.net/big.iso --user ada
            """)

    @Argument(help: "The transfer's number.", completion: DynamicCompletion.tasks.kind)
    var id: Int64

    @Argument(help: ArgumentHelp("Where it is now: http or https.", valueName: "url"))
    var url: String

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp(
            "Send this header field, 'Name: value', in place of all that it had. Can be repeated.", valueName: "field"),
        transform: HeaderArgument.parse)
    var headers: [HeaderField] = []

    @OptionGroup var login: UserOption

    @OptionGroup var format: JSONOption

    func validate() throws {
        if let mistake = URLArgument.mistake(in: url) {
            throw ValidationError("'\(TaskText.shown(url: url))': \(mistake).")
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        HeaderArgument.warn(about: headers, invocation.errors)
        let request = RetargetRequest(
            url: url, headers: headers.isEmpty ? nil : headers,
            credential: try login.credential(invocation))
        try await invocation.service.ready()
        let task = try await invocation.service.client.send(.retarget(TaskID(id), request))
        if format.json {
            try invocation.json(task)
        } else {
            let place = TerminalText.escaped(TaskText.shown(url: task.url))
            invocation.output.line(
                task.state == .suspended
                    ? "\(id): \(place); it is paused, go on with: nightshift resume \(id)" : "\(id): \(place)")
        }
        return .whole
    }
}
