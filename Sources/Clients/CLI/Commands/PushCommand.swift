import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct PushCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Manage remote notifications: the gateway, device tokens, and deliveries.",
        discussion: """
            Providers send pushes to a gateway, and the gateway sends them to this device over one connection for all \
            apps. The connection is open only while an app is registered. A push with content-available wakes an app \
            that declares X-Nightshift-BackgroundModes=remote-notification; and the alert of the push is shown when \
            the app has handled it.

            Without a subcommand, the connection and all registered apps are shown.

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
        abstract: "Show the connection to the gateway, and the registered apps.",
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
            'nightshift-gateway enrolment create' prints the address. It works once, and only for a limited time. The \
            device creates a key, which never leaves it. A device is enrolled at one gateway at a time. 'nightshift \
            push leave' removes the enrolment.

            Examples:
              nightshift push enrol nightshift-push://push.example.org:5223/CODE
              nightshift push enrol nightshift-push://127.0.0.1:5223/CODE --name laptop
            """)

    @Argument(help: ArgumentHelp("The gateway's address with an enrolment code.", valueName: "url"))
    var url: String

    @Option(help: ArgumentHelp("The name of this device in the gateway's list.", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "A PEM file with the certificate authority that signed the gateway's certificate.", valueName: "file"),
        completion: .file())
    var authority: String?

    @OptionGroup var format: JSONOption

    func validate() throws {
        guard url.hasPrefix("nightshift-push://") else {
            throw ValidationError(
                "The address must begin with nightshift-push://. 'nightshift-gateway enrolment create' prints it.")
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
        abstract: "Leave the gateway: device tokens become invalid, and no more pushes arrive.",
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
        abstract: "Register an app, and print the device token to which its provider sends.",
        discussion: """
            Use this for apps that do not register themselves, such as scripts. The token stays the same until you \
            run this with --remove or remove the app. The gateway then reports to providers that the token is invalid.

            Exit codes: 0 the token was printed; 1 the app has no token yet.

            Examples:
              nightshift push token org.example.Mail
              nightshift push token org.example.Mail --remove
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag(help: "Unregister the app, which makes its token invalid.")
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
                invocation.output.line("\(AppText.id(app)): unregistered, its token is invalid")
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
        abstract: "Explain what happened to an app's remote notifications.",
        discussion: """
            Explains how a push would be handled now. For each of the last pushes it prints the decision and its \
            reason, whether the app was woken, the result, and when the alert was shown. If an alert was not shown, it \
            prints the reason and the command that changes this.

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
