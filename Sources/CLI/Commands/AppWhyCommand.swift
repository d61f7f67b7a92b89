import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppWhyCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain why an app is in its state.",
        discussion: """
            Says what it does or is to do, until when, how its last process ended, and why it is not launched where \
            it is not; what speaks for and against a background fetch now, and what the last ones brought; what it \
            watches of its user's location, and whether it may. 'nightshift why ID' says the same.

            Examples:
              nightshift app why org.example.Photos
              nightshift app why org.example.Photos --json
            """)

    @Argument(help: AppArgument.help, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.explain(id, json: format.json)
    }
}

extension Invocation {
    /// Why the app is in its state, on standard output.
    func explain(_ argument: AppArgument, json: Bool) async throws -> ExitStatus {
        let explanation = try await service.fetch(.why(try appID(argument)))
        let background = try await background(of: explanation.app.id)
        if json {
            try self.json(WithBackground(value: explanation, background: background))
        } else {
            output.lines(appReport.lines(explaining: explanation) + lines(background))
        }
        return .whole
    }
}
