import ArgumentParser
import NightshiftAPI
import NightshiftClient

/// The command that prints completions of a word, for the scripts of `nightshift completions`.
struct CompleteCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "complete",
        abstract: "Print words that complete a command line.",
        discussion: """
            Completion scripts of shells call this. It prints nothing if the service does not run or does not answer \
            within a second. The service is not started.

            Examples:
              nightshift complete tasks --shell bash -- nightshift pause
            """,
        shouldDisplay: false)

    @Argument(help: "The kind of words to print.")
    var kind: DynamicCompletion

    @Option(help: "The shell.")
    var shell: CompletionsCommand.Shell = .bash

    @Argument(help: "The words of the command line.")
    var words: [String] = []

    @OptionGroup var format: JSONOption

    private struct Document: Encodable {
        var words: [String]
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let found = await found(invocation)
        // A word that is already in the command line is not offered again.
        let offered = found.filter { !words.dropFirst().dropLast().contains($0.word) }
        if format.json {
            try invocation.json(Document(words: offered.map(\.word)))
        } else {
            invocation.output.lines(offered.compactMap { $0.line(for: shell) })
        }
        return .whole
    }

    private func found(_ invocation: Invocation) async -> [CompletionWord] {
        guard (try? invocation.serviceRuns()) == true else { return [] }
        let (client, timeout) = (invocation.service.client, invocation.completionTimeout)
        return await withTaskGroup(of: [CompletionWord]?.self) { group in
            group.addTask { try? await read(client) }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return nil
            }
            defer { group.cancelAll() }
            return (await group.next() ?? nil) ?? []
        }
    }

    private func read(_ client: ServiceClient) async throws -> [CompletionWord] {
        switch kind {
        case .tasks: try await tasks(client)
        case .apps: try await apps(client)
        case .subjects: try await tasks(client) + apps(client)
        case .regions:
            try await client.send(.location).apps.flatMap { app in
                app.regions.map { CompletionWord(word: $0.region.identifier, about: "region of \(app.app.rawValue)") }
            }
        }
    }

    /// Returns completions for transfers, newest first. Only the first page of a long list is read, because more words
    /// would not fit on a screen.
    private func tasks(_ client: ServiceClient) async throws -> [CompletionWord] {
        var tasks = try await client.send(.tasks(TaskFilter(states: CompletionStates.of(words)))).tasks
        if ["get", "put"].contains(words.dropFirst().first) { tasks.removeAll { $0.resumeData == nil } }
        return tasks.reversed().map {
            CompletionWord(word: "\($0.id)", about: "\(TaskText.name($0)), \($0.state.name)")
        }
    }

    private func apps(_ client: ServiceClient) async throws -> [CompletionWord] {
        try await client.send(.apps).apps.map { app in
            CompletionWord(word: app.id.rawValue, about: "\(app.name), \(app.state.name)")
        }
    }
}
