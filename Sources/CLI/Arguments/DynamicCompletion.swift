import ArgumentParser
import NightshiftAPI

/// Words that a shell asks the service for: what a hidden command, `nightshift complete`, prints.
enum DynamicCompletion: String, CaseIterable, ExpressibleByArgument {
    case tasks
    case apps
    /// Transfers and apps.
    case subjects
    case regions

    /// How the script of the shell that is being generated asks. The program is the one that is typed, and it is given the
    /// words of the line. Errors are not for a line that is being typed.
    var kind: CompletionKind {
        switch CompletionShell.requesting {
        case .bash:
            .shellCommand(
                #""${COMP_WORDS[0]}" complete \#(rawValue) --shell bash -- "${COMP_WORDS[@]}" 2>/dev/null"#)
        case .zsh:
            .shellCommand(#""${command_name}" complete \#(rawValue) --shell zsh -- "${command_line[@]}" 2>/dev/null"#)
        case .fish:
            .shellCommand(
                "set -l typed (commandline -opc); command $typed[1] complete \(rawValue) --shell fish -- $typed \"\" 2>/dev/null"
            )
        default: .default
        }
    }
}

/// A word that a shell offers, with a few words about it.
struct CompletionWord: Hashable, Sendable {
    var word: String
    var about: String

    /// The line that `shell` takes it from; nil where the shell could not.
    func line(for shell: CompletionsCommand.Shell) -> String? {
        guard !word.isEmpty, TerminalText.escaped(word) == word else { return nil }
        let about = TerminalText.escaped(about)
        switch shell {
        case .bash:
            // It expands the words of a list, as it expands a command: names come from servers.
            let isPlain = word.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "-_./:@%+=,".utf8.contains(byte)
            }
            return isPlain ? word : nil
        case .zsh:
            return word.replacing("\\", with: "\\\\").replacing(":", with: "\\:") + ":" + about
        case .fish:
            return word + "\t" + about
        }
    }
}

/// The transfers that a command is offered, by what it does to them.
enum CompletionStates {
    /// - Parameter words: the line that is being typed, with the program's name. Empty for all states.
    static func of(_ words: [String]) -> [TaskState] {
        let command = words.dropFirst().first { !$0.hasPrefix("-") }
        switch command {
        case "pause": return [.waiting, .running]
        case "resume": return [.suspended]
        case "retry": return [.waiting]
        case "cancel", "set", "watch", "wait": return TaskState.unfinished
        case "retarget": return TaskState.unfinished + [.failed]
        case "remove": return TaskState.ended
        case "get", "put": return [.cancelled, .failed]
        default: return []
        }
    }
}
