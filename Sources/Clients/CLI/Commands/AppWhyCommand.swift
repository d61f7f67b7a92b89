import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppWhyCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain why an app is in its state.",
        discussion: """
            Explains the app's current work and its end, how its last process ended, and why the app is not launched. \
            Also gives the reasons for and against a background fetch now, the results of the last ones, and the app's \
            use of your location. 'nightshift why ID' prints the same.

            Examples:
              nightshift app why org.example.Photos
              nightshift app why org.example.Photos --json
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let answer = try await invocation.explanation(of: try invocation.appID(id))
        if format.json {
            try invocation.json(answer.document)
        } else {
            invocation.output.lines(answer.lines)
        }
        return .whole
    }
}

extension Invocation {
    /// Returns the explanation of the app's state.
    func explanation(of id: AppID) async throws -> SubjectAnswer {
        let explanation = try await service.fetch(.why(id))
        let background = try await background(of: explanation.app.id)
        return SubjectAnswer(
            lines: appReport.lines(explaining: explanation) + lines(background),
            document: WithBackground(value: explanation, background: background))
    }
}
