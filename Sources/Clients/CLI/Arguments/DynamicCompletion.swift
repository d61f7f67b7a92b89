import ArgumentParser
import NightshiftAPI

/// A kind of words that a completion script requests from the hidden command `nightshift complete`.
enum DynamicCompletion: String, CaseIterable, ExpressibleByArgument {
    case tasks
    case apps
    /// The words for transfers and apps.
    case subjects
    case regions

    /// The shell for which the current Swift task generates a completion script.
    @TaskLocal static var shell: CompletionShell?

    /// The command by which the completion script requests the words. It runs the program that the user typed, passes
    /// the words of the command line to it, and discards its errors.
    var kind: CompletionKind {
        // The parser stores the shell globally. If scripts for two shells were generated at the same time, they would
        // mix.
        switch Self.shell ?? CompletionShell.requesting {
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

/// A word that the shell offers as a completion, with a short description.
struct CompletionWord: Hashable, Sendable {
    var word: String
    var about: String

    /// Returns the line of output for `shell`, or nil if the shell cannot represent the word.
    func line(for shell: CompletionsCommand.Shell) -> String? {
        guard !word.isEmpty, TerminalText.escaped(word) == word else { return nil }
        let about = TerminalText.escaped(about)
        switch shell {
        case .bash:
            // bash expands words in a list as it expands a command. Words may come from servers, so only harmless words
            // are offered.
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

/// The states of the transfers that a command applies to, for completion.
enum CompletionStates {
    /// Returns the states for the command in `words`. Empty means all states.
    ///
    /// - Parameter words: the command line so far, with the program's name.
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
