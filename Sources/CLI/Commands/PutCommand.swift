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
            After a break the upload goes on where the server is, if that speaks the IETF's resumable uploads, or tus \
            with --tus. Unless the service keeps a copy of it, the file must not change until it is sent: a changed \
            file is an error, never a mixture. What the server answers is written to standard output, or to a file \
            with -o. After ^C the same command follows the upload, unless it is a form or has a method other than PUT.

            Examples:
              nightshift put photo.jpg https://example.org/inbox/photo.jpg
              nightshift put --form name=Ada --form photo=@a.jpg https://example.org/form
              nightshift put -X POST -H 'X-Kind: report' r.json https://example.org/new
              nightshift put --detach --limit-rate 1M a.tar https://example.org/a.tar
            """)

    @Argument(help: "The file to send; not with --form.", completion: .file())
    var file: String?

    @Argument(help: "Where to send it: http or https.")
    var url: String?

    @Option(
        name: .customLong("form"),
        help: ArgumentHelp(
            "Send a form with this field, 'name=value' or 'name=@file[;type=...][;filename=...]'. Can be repeated.",
            valueName: "field"),
        transform: FormArgument.parse)
    var form: [FormField] = []

    @Flag(help: "Speak tus 1.0 to the server.")
    var tus = false

    @Flag(help: "Send the request as it is: it cannot be continued after a break.")
    var noResume = false

    @Flag(
        help: "Keep a copy until it is sent, so that the file may change. Without, only where that costs no space.")
    var copySource = false

    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("The method. PUT unless given, POST for a form.", valueName: "method"))
    var method: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Write the server's answer to this file.", valueName: "file"), completion: .file())
    var output: String?

    @Flag(help: "Replace the file of -o where it is there already.")
    var force = false

    @Option(
        name: .customLong("continue"),
        help: ArgumentHelp("Go on with an upload that was ended by 'nightshift cancel --keep'.", valueName: "id"),
        completion: DynamicCompletion.tasks.kind)
    var continued: Int64?

    @OptionGroup(title: "The request") var request: TransferOptions
    @OptionGroup(title: "The moment") var conditions: ConditionOptions
    @OptionGroup(title: "The app") var owner: AppOptions
    @OptionGroup(title: "Waiting") var watching: WatchingOptions

    /// With a form the one argument is the URL.
    private var target: String { url ?? file ?? "" }

    func validate() throws {
        if output != nil && watching.detach { throw ValidationError("-o needs to wait; it cannot go with --detach.") }
        guard continued == nil else {
            guard file == nil, form.isEmpty, !tus, !noResume, !copySource, method == nil else {
                throw ValidationError("--continue sends what the task was to send, as it was to send it.")
            }
            return
        }
        if file == nil || form.isEmpty == (url == nil) {
            throw ValidationError("Give a file to send and a URL, --form and a URL, or --continue ID.")
        }
        if let mistake = URLArgument.mistake(in: target) {
            throw ValidationError("'\(TaskText.shown(url: target))': \(mistake).")
        }
        if tus && noResume { throw ValidationError("--tus is a way to resume; it cannot go with --no-resume.") }
        if tus && !form.isEmpty { throw ValidationError("tus takes a file, not a form.") }
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

    /// What to send, and where.
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
        // Other methods may do something twice when they are sent twice, and that may be what is wanted.
        if form.isEmpty, (method ?? "PUT").uppercased() == "PUT" { task.ifSame = .join }
        try ProxyVariables(invocation.environment).apply(to: &task)
        for path in [task.source].compactMap(\.self) + (task.form ?? []).compactMap(\.source) {
            try requireSource(path)
        }
    }

    private func requireSource(_ path: String) throws {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw CommandFailure.failed("There is no file \(path).")
        }
        guard !isDirectory.boolValue else { throw CommandFailure.failed("\(path) is a directory.") }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw CommandFailure.failed("\(path) may not be read.")
        }
    }

    /// An answer comes once: where somebody has made the file meanwhile, it takes a free name beside it.
    private func keep(_ body: Data, in file: String, _ invocation: Invocation) throws {
        if try invocation.write(body, to: file, isReplacing: force) { return }
        for number in 1... {
            let free = "\(file).\(number)"
            guard try invocation.write(body, to: free, isReplacing: false) else { continue }
            invocation.errors.line(
                "\(TerminalText.escaped(file)) was made meanwhile, and is left; the answer is in \(TerminalText.escaped(free))."
            )
            return
        }
    }

    /// The response's body, also that of a refusal: it often says why.
    private func passOn(answerOf id: TaskID, to file: String?, _ invocation: Invocation) async throws {
        guard file != nil || !watching.json else { return }
        let body: Data
        do {
            body = try await invocation.service.client.send(.content(of: id))
        } catch let problem as Problem where problem.status == 404 || problem.status == 409 {
            // No body came.
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
