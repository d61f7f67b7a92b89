import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct PushCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Remote notifications: the gateway, and what becomes of what it sends.",
        discussion: """
            Providers send to a gateway, and the gateway sends to this device over one connection for all apps. It is \
            open only while some app has registered. An app with X-Nightshift-BackgroundModes=remote-notification; is \
            woken for what has content-available, and its alert is shown when it has fetched.

            Without a subcommand the connection and all apps are shown.

            Examples:
              nightshift push enrol nightshift-push://push.example.org:5223/CODE
              nightshift push token org.example.Mail
              nightshift push why org.example.Mail
            """,
        subcommands: [
            PushStatusCommand.self, PushEnrolCommand.self, PushLeaveCommand.self, PushTokenCommand.self,
            PushWhyCommand.self,
        ],
        defaultSubcommand: PushStatusCommand.self)
}

struct PushStatusCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the connection to the gateway, and the apps that have registered.",
        discussion: """
            Examples:
              nightshift push status
              nightshift push status --json
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.show(try await invocation.service.fetch(.push), json: format.json)
    }
}

struct PushEnrolCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "enrol",
        abstract: "Enrol this device at a push gateway.",
        discussion: """
            The address is what 'nightshift-gateway enrolment create' prints; it works once and for a time. The device \
            makes a key of its own, which never leaves it. A device is enrolled at one gateway: 'nightshift push \
            leave' leaves it.

            Examples:
              nightshift push enrol nightshift-push://push.example.org:5223/CODE
              nightshift push enrol nightshift-push://127.0.0.1:5223/CODE --name laptop
            """)

    @Argument(help: ArgumentHelp("The gateway's address with an enrolment code.", valueName: "url"))
    var url: String

    @Option(help: ArgumentHelp("The name under which the gateway lists this device.", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp("PEM file of the authority that has signed the gateway's certificate.", valueName: "file"),
        completion: .file())
    var authority: String?

    @OptionGroup var format: JSONOption

    func validate() throws {
        guard url.hasPrefix("nightshift-push://") else {
            throw ValidationError(
                "The address begins with nightshift-push://, as 'nightshift-gateway enrolment create' prints it.")
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let request = PushEnrolmentRequest(
            url: url, name: name, authority: try authority.map { try invocation.absolute($0) })
        try await invocation.service.ready()
        return try invocation.show(try await invocation.service.client.send(.enrol(request)), json: format.json)
    }
}

struct PushLeaveCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Leave the gateway: tokens end, and nothing comes any more.",
        discussion: """
            Examples:
              nightshift push leave
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.service.ready()
        try await invocation.service.client.send(.leavePush)
        return try invocation.show(try await invocation.service.fetch(.push), json: format.json)
    }
}

struct PushTokenCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Register an app, and print the token that its provider sends to.",
        discussion: """
            For apps that do not ask for it themselves, such as scripts. The token stays the same until --remove, or \
            until the app is removed; providers are then told that it is gone.

            Exit codes: 0 the token is printed; 1 there is none yet.

            Examples:
              nightshift push token org.example.Mail
              nightshift push token org.example.Mail --remove
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag(help: "Take it back.")
    var remove = false

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(id)
        let service = invocation.service
        try await service.ready()
        if remove {
            try await service.client.send(.unregisterFromPush(app))
            if format.json {
                try invocation.json(try await service.fetch(.push(of: app)))
            } else {
                invocation.output.line("\(AppText.id(app)): its token is taken back")
            }
            return .whole
        }
        let status = try await service.client.send(.registerForPush(app))
        if format.json {
            try invocation.json(status)
        } else if let token = status.token {
            invocation.output.line(TerminalText.escaped(token))
        } else {
            let reason = TerminalText.escaped(status.error ?? status.sentence)
            invocation.errors.line("nightshift: \(AppText.id(app)): \(reason)")
        }
        return status.token == nil ? .failed : .whole
    }
}

struct PushWhyCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain what became of an app's remote notifications.",
        discussion: """
            Says what would become of one that came now, and of each of the last ones what was decided and why: \
            whether the app was woken, what came of it, and when its alert was shown, or why not and which command \
            changes that.

            Examples:
              nightshift push why org.example.Mail
              nightshift push why org.example.Mail --json
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let status = try await invocation.service.fetch(.push(of: try invocation.appID(id)))
        if format.json {
            try invocation.json(status)
        } else {
            invocation.output.lines(invocation.pushReport.lines(status))
        }
        return .whole
    }
}

extension Invocation {
    var pushReport: PushReport { PushReport(times: times, style: Style(isEnabled: output.allowsColor)) }

    fileprivate func show(_ status: PushStatus, json: Bool) throws -> ExitStatus {
        if json {
            try self.json(status)
        } else {
            output.lines(pushReport.lines(status))
        }
        return .whole
    }
}
