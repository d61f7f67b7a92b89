import ArgumentParser
import NightshiftAPI

struct CompletionsCommand: ClientCommand {
    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    static let configuration = CommandConfiguration(
        commandName: "completions",
        abstract: "Print a script that completes commands, options and ids in a shell.",
        discussion: """
            Examples:
              source <(nightshift completions bash)
              nightshift completions zsh > ~/.zfunc/_nightshift
              nightshift completions fish > ~/.config/fish/completions/nightshift.fish
            """)

    @Argument(help: "The shell.")
    var shell: Shell

    @OptionGroup var format: JSONOption

    private struct Document: Encodable {
        var shell: String
        var script: String
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let completionShell: CompletionShell =
            switch shell {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        let script = DynamicCompletion.$shell.withValue(completionShell) {
            NightshiftCommand.completionScript(for: completionShell)
        }
        if format.json {
            try invocation.json(Document(shell: shell.rawValue, script: script))
        } else {
            invocation.output.line(script)
        }
        return .whole
    }
}
