import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

struct GetCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Download files.",
        discussion: """
            The service continues a download after broken connections, restarts and power failures until the file is \
            complete. If the file has changed on the server, the download starts again from the beginning. A file \
            appears under its name only when it is complete.

            Progress is shown on standard error. If standard output is not a terminal, the path of each complete file \
            is written to it, one per line. ^C ends this command with exit code 130, and the service continues the \
            transfers. The same command again follows them.

            Examples:
              nightshift get https://example.org/big.iso
              nightshift get -o a.iso --checksum sha-256:9f86... https://example.org/a.iso
              nightshift get -d ~/Downloads -i list.txt
              nightshift get --mirror https://example.com/a.iso https://example.org/a.iso
              nightshift get --not-before 22:00 --detach https://example.org/big.iso
            """)

    @Argument(help: ArgumentHelp("The URLs to download, with http or https.", valueName: "url"))
    var urls: [String] = []

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Read URLs from this file, one per line. Lines with # are comments. - is standard input.",
            valueName: "file"),
        completion: .file())
    var inputFile: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "Write the file to this path, for one URL only. With - it is written to standard output once it is complete.",
            valueName: "file"), completion: .file())
    var output: String?

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: ArgumentHelp(
            "Write the files to this directory. The default is the current directory.", valueName: "directory"),
        completion: .directory)
    var directory: String?

    @Option(
        help: ArgumentHelp(
            "The expected hash of the complete file, such as sha-256:9f86...", valueName: "algorithm:hex"),
        transform: ChecksumArgument.parse)
    var checksum: Checksum?

    @Option(
        name: .customLong("mirror"),
        help: ArgumentHelp(
            "Another URL of the same file, used alongside the first one or if that fails. For one file only; can be repeated.",
            valueName: "url"))
    var mirrors: [String] = []

    @Option(
        help: ArgumentHelp(
            "The number of connections for each file. By default up to 8 are used, if they make the download faster.",
            valueName: "number"))
    var connections: Int?

    @Flag(help: "Replace an existing file.")
    var force = false

    @Option(
        name: .customLong("continue"),
        help: ArgumentHelp(
            "Continue a transfer that 'nightshift cancel --keep' has ended, or that failed.", valueName: "id"),
        completion: DynamicCompletion.tasks.kind)
    var continued: Int64?

    @OptionGroup(title: "Request") var request: TransferOptions
    @OptionGroup(title: "Conditions") var conditions: ConditionOptions
    @OptionGroup(title: "App") var owner: AppOptions
    @OptionGroup(title: "Output") var watching: WatchingOptions

    func validate() throws {
        let sources = [!urls.isEmpty, inputFile != nil, continued != nil].filter { $0 }.count
        if sources == 0 {
            let options: [TakenURL] = [.output(output), .directory(directory), .user(request.login.user)]
            throw TakenURL.mistake(options) ?? ValidationError("Give URLs, -i FILE or --continue ID.")
        }
        if sources > 1 { throw ValidationError("URLs, -i and --continue cannot be combined.") }
        if output == "-" && (watching.detach || watching.json || continued != nil || owner.app != nil) {
            throw ValidationError("-o - cannot be combined with --detach, --json, --continue or --app.")
        }
        if output != nil && directory != nil { throw ValidationError("-o and -d cannot be combined.") }
        if urls.count > 1 || inputFile != nil {
            if output != nil { throw ValidationError("-o works with one URL only. Use -d for several URLs.") }
            if checksum != nil { throw ValidationError("--checksum works with one URL only.") }
            if !mirrors.isEmpty { throw ValidationError("--mirror works with one URL only.") }
        }
        if let connections, !(1...Limits.connectionsPerTask).contains(connections) {
            throw ValidationError("--connections must be from 1 to \(Limits.connectionsPerTask).")
        }
        for url in urls + mirrors {
            if let mistake = URLArgument.mistake(in: url) {
                throw ValidationError("'\(TaskText.shown(url: url))': \(mistake).")
            }
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        var template = try request.request(.download, invocation)
        conditions.apply(to: &template)
        template.checksum = checksum
        template.connections = connections
        template.mirrors = mirrors.isEmpty ? nil : mirrors
        if let done = try await finishedBefore(invocation) {
            if !watching.json {
                invocation.errors.line(
                    "Transfer \(done.id) has already downloaded this file. To download it again, add --force.")
            }
            return try await Submission(invocation: invocation, options: watching, owner: owner).follow(done)
        }
        template.destination = output == "-" ? nil : try destination(invocation)
        let submission = Submission(invocation: invocation, options: watching, owner: owner)
        if let continued {
            let task = try await invocation.service.task(TaskID(continued))
            if output == nil && directory == nil, let destination = task.destination {
                template.destination = destination
            }
            template.resumeData = try task.kept(.download)
            return try await submission.run(names: [TaskText.name(task)], [template])
        }
        if let inputFile {
            let list = try URLList(path: inputFile)
            guard try list.validated() > 0 else { throw CommandFailure.usage("\(inputFile) contains no URL.") }
            return try await submission.run(list: list) { try self.tasks(for: $0, like: template, invocation) }
        }
        let tasks = try self.tasks(for: urls, like: template, invocation)
        if output == "-", let task = tasks.first {
            return try await StandardOutputDownload(submission: submission).run(
                name: TaskText.name(ofURL: task.url ?? ""), task)
        }
        return try await submission.run(names: tasks.map { Submission.name($0) }, tasks)
    }

    private func tasks(for urls: [String], like template: TaskRequest, _ invocation: Invocation) throws -> [TaskRequest]
    {
        let proxies = ProxyVariables(invocation.environment)
        return try urls.map { url in
            var task = template
            task.url = url
            if task.destination?.filename == nil { task.ifSame = .join }
            try proxies.apply(to: &task)
            return task
        }
    }

    /// Returns the transfer that has downloaded this URL to the file of `-o`, or nil if there is no such transfer or
    /// the file has changed since.
    private func finishedBefore(_ invocation: Invocation) async throws -> TaskStatus? {
        guard let output, output != "-", !force, owner.app == nil, let text = urls.first,
            let url = try? TransferURL(parsing: text).string
        else { return nil }
        let path = try invocation.absolute(output)
        var file = stat()
        guard lstat(path, &file) == 0, file.st_mode & S_IFMT == S_IFREG, try invocation.serviceRuns() else {
            return nil
        }
        var found: TaskStatus?
        try await invocation.service.forEachTask(TaskFilter(states: [.completed], session: .terminal)) { task in
            guard task.file == path, task.url == url, checksum == nil || task.checksum == checksum,
                task.countOfBytesReceived == Int64(file.st_size), let ended = task.endedAt,
                // If the file was written to after the download ended, it is a different file. The modification time
                // may also be earlier, because it may come from the server.
                Double(file.st_mtim.tv_sec) <= ended.timeIntervalSince1970
            else { return }
            found = task
        }
        return found
    }

    private func destination(_ invocation: Invocation) throws -> Destination {
        let overwrite = force ? true : nil
        guard let output else {
            let folder = try invocation.absolute(directory ?? ".")
            try DestinationCheck.requireDirectory(folder)
            return Destination(directory: folder, overwrite: overwrite, umask: invocation.umask)
        }
        let path = try invocation.absolute(output)
        try DestinationCheck.requireFile(path, asTyped: output, force: force)
        return Destination(
            directory: PhysicalPath.directory(of: path), filename: PhysicalPath.name(of: path), overwrite: overwrite,
            ifTaken: .join, umask: invocation.umask)
    }
}
