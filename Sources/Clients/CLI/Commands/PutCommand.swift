import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct PutCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Upload a file, or a form.",
        usage: """
            nightshift put [<options>] <file> <url>
            nightshift put [<options>] --form <field> ... <url>
            nightshift put [<options>] --continue <id>
            """,
        discussion: """
            After an interruption the upload continues where it stopped, if the server supports the IETF's resumable \
            uploads, or tus with --tus. The file must not change until it is sent, unless the service keeps a copy. If \
            it changes, the upload fails; the server never gets a mixture of two versions. The server's response is \
            written to standard output, or to a file with -o. After ^C the same command follows the upload, unless the \
            upload is a form or uses a method other than PUT.

            Examples:
              nightshift put photo.jpg https://example.org/inbox/photo.jpg
              nightshift put --form name=Ada --form photo=@a.jpg https://example.org/form
              nightshift put -X POST -H 'X-Kind: report' r.json https://example.org/new
              nightshift put --detach --limit-rate 1M a.tar https://example.org/a.tar
            """)

    @Argument(help: "The file to upload. Not used with --form.", completion: .file())
    var file: String?

    @Argument(help: "The URL to upload to, with http or https.")
    var url: String?

    @Option(
        name: .customLong("form"),
        help: ArgumentHelp(
            "Send a form with this field, 'name=value' or 'name=@file[;type=...][;filename=...]'. Can be repeated.",
            valueName: "field"),
        transform: FormArgument.parse)
    var form: [FormField] = []

    @Flag(help: "Use the protocol tus 1.0.")
    var tus = false

    @Flag(help: "Use one plain request, which cannot be continued after an interruption.")
    var noResume = false

    @Flag(
        help: """
            Copy the file first, so that you may change it. Without this option, it is copied only if a copy takes no \
            space.
            """)
    var copySource = false

    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("The HTTP method. The default is PUT, and POST for a form.", valueName: "method"))
    var method: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Write the server's response to this file.", valueName: "file"), completion: .file())
    var output: String?

    @Flag(help: "Replace the file of -o if it exists.")
    var force = false

    @Option(
        name: .customLong("continue"),
        help: ArgumentHelp(
            "Continue an upload that 'nightshift cancel --keep' has ended, or that failed.", valueName: "id"),
        completion: DynamicCompletion.tasks.kind)
    var continued: Int64?

    @OptionGroup(title: "Request") var request: TransferOptions
    @OptionGroup(title: "Conditions") var conditions: ConditionOptions
    @OptionGroup(title: "App") var owner: AppOptions
    @OptionGroup(title: "Output") var watching: WatchingOptions

    /// The URL. If a form is uploaded, the URL is the only argument.
    private var target: String { url ?? file ?? "" }

    func validate() throws {
        if output != nil && watching.detach {
            throw ValidationError("-o waits for the response, so it cannot be combined with --detach.")
        }
        guard continued == nil else {
            guard file == nil, form.isEmpty, !tus, !noResume, !copySource, method == nil else {
                throw ValidationError(
                    "--continue repeats the file and the method of the earlier upload, and cannot be combined with others."
                )
            }
            return
        }
        if file == nil || form.isEmpty == (url == nil) {
            throw TakenURL.mistake([.output(output), .user(request.login.user)])
                ?? ValidationError("Give a file and a URL, --form and a URL, or --continue ID.")
        }
        if let mistake = URLArgument.mistake(in: target) {
            throw ValidationError("'\(TaskText.shown(url: target))': \(mistake).")
        }
        if tus && noResume { throw ValidationError("--tus and --no-resume cannot be combined.") }
        if tus && !form.isEmpty { throw ValidationError("--tus uploads a file, so it cannot be combined with --form.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        var task = try request.request(.upload, invocation)
        conditions.apply(to: &task)
        let answer = try output.map { try invocation.absolute($0) }
        if let answer, let output { try DestinationCheck.requireFile(answer, asTyped: output, force: force) }
        let name: String
        if let continued {
            let old = try await invocation.service.task(TaskID(continued))
            task.resumeData = try old.kept(.upload)
            name = TaskText.name(old)
        } else {
            try describe(&task, invocation)
            name = Submission.name(task)
        }
        let submission = Submission(invocation: invocation, options: watching, owner: owner)
        let (status, ids) = try await submission.submitted(names: [name], [task])
        guard let id = ids.first, !watching.detach, status != .interrupted else { return status }
        try await passOn(answerOf: id, to: answer, invocation)
        return status
    }

    /// Sets the source and the URL of the request.
    private func describe(_ task: inout TaskRequest, _ invocation: Invocation) throws {
        task.url = target
        task.method = method
        if form.isEmpty {
            task.source = try file.map { try invocation.absolute($0) }
        } else {
            task.form = try form.map { field in
                var field = field
                field.source = try field.source.map { try invocation.absolute($0) }
                return field
            }
        }
        task.resumption = tus ? .tus : noResume ? .plain : nil
        task.snapshot = copySource ? .copy : nil
        // Other methods may have an effect each time they are sent, and the user may want that effect twice.
        if form.isEmpty, (method ?? "PUT").uppercased() == "PUT" { task.ifSame = .join }
        try ProxyVariables(invocation.environment).apply(to: &task)
        for path in [task.source].compactMap(\.self) + (task.form ?? []).compactMap(\.source) {
            try requireSource(path)
        }
    }

    private func requireSource(_ path: String) throws {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw CommandFailure.failed("The file \(path) does not exist.")
        }
        guard !isDirectory.boolValue else { throw CommandFailure.failed("\(path) is a directory.") }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw CommandFailure.failed("You have no permission to read \(path).")
        }
    }

    /// Writes the response to a file. If another program has created that file, the response goes to a file with a free
    /// name next to it, because the response cannot be fetched again.
    private func keep(_ body: Data, in file: String, _ invocation: Invocation) throws {
        if try invocation.write(body, to: file, isReplacing: force) { return }
        for number in 1... {
            let free = "\(file).\(number)"
            guard try invocation.write(body, to: free, isReplacing: false) else { continue }
            invocation.errors.line(
                "Another program has created \(TerminalText.escaped(file)). It is not replaced; the response is in "
                    + "\(TerminalText.escaped(free))."
            )
            return
        }
    }

    /// Prints the body of the response. This includes an error response, because its body often contains the reason.
    private func passOn(answerOf id: TaskID, to file: String?, _ invocation: Invocation) async throws {
        guard file != nil || !watching.json else { return }
        let body: Data
        do {
            body = try await invocation.service.client.send(.content(of: id))
        } catch let problem as Problem where problem.status == 404 || problem.status == 409 {
            // The response has no body.
            body = Data()
        }
        if let file {
            try keep(body, in: file, invocation)
        } else if invocation.output.isTerminal {
            let text = TerminalText.escaped(String(decoding: body, as: UTF8.self), keepingNewlines: true)
            if !text.isEmpty { invocation.output.write(text.hasSuffix("\n") ? text : text + "\n") }
        } else {
            invocation.output.write(body)
        }
    }
}
