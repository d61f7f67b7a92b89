import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RetargetCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "retarget",
        abstract: "Give a transfer another URL of the same file.",
        discussion: """
            Use this if the URL of a download has expired, even if the download has already failed, or if another \
            server has the same file. The data on disk is kept if it belongs to the file at the new URL: the entity \
            tag is the same, or the length and the last 64 KiB, which are fetched again, are the same. Otherwise the \
            download starts again, and 'nightshift why' explains it.

            Header fields, user name and password are kept if the new URL has the same scheme, host and port. \
            Otherwise only header fields that are known to be harmless are sent. Give the others again with this \
            command.

            Examples:
              nightshift retarget 12 'https://example.org/big.iso?signature=4711'
              nightshift retarget 12 https://mirror.example.net/big.iso --user ada
            """)

    @Argument(help: "The transfer's number.", completion: DynamicCompletion.tasks.kind)
    var id: Int64

    @Argument(help: ArgumentHelp("The new URL, with http or https.", valueName: "url"))
    var url: String

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp(
            "Send this header field, 'Name: value'. All earlier header fields are removed. Can be repeated.",
            valueName: "field"),
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
            let place = TaskText.shown(url: task.url)
            invocation.output.line(
                task.state == .suspended
                    ? "\(id): \(place); it is paused. Continue it with: nightshift resume \(id)" : "\(id): \(place)")
            if let note = Self.note(task) { invocation.errors.line(note) }
        }
        return .whole
    }

    /// Returns what is known about the data on disk; nil for an upload. Only the response of the new URL shows whether
    /// the file is the same.
    static func note(_ task: TaskStatus) -> String? {
        guard task.kind == .download else { return nil }
        guard task.countOfBytesReceived > 0 else {
            return "No data is on disk, so the download starts from the beginning."
        }
        let size = QuantityText.size(task.countOfBytesReceived)
        return
            "The \(size) on disk are kept if the file at the new URL is the same. 'nightshift why \(task.id)' says what "
            + "happened."
    }
}
