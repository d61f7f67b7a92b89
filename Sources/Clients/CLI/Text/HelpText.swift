import ArgumentParser
import Foundation

/// A formatter of the help and the messages of the argument parser.
enum HelpText {
    /// A width at which the help has no wrapped lines.
    private static let unwrapped = 10_000

    /// Returns the parser's message for `error`, which is a help text, a version or a completion script.
    static func message(for error: any Error, columns: Int) -> String {
        withWholeExamples(
            NightshiftCommand.fullMessage(for: error, columns: columns),
            NightshiftCommand.fullMessage(for: error, columns: unwrapped))
    }

    /// Returns the help of a command.
    static func help(for command: any ParsableCommand.Type, columns: Int) -> String {
        withWholeExamples(
            NightshiftCommand.helpMessage(for: command, columns: columns),
            NightshiftCommand.helpMessage(for: command, columns: unwrapped))
    }

    /// Returns the message about a mistake in the arguments: a sentence, the usage, and a hint how to show the help.
    static func mistake(_ error: any Error, withUsage: Bool) -> String {
        let message = sentence(NightshiftCommand.message(for: error))
        let whole = NightshiftCommand.fullMessage(for: error, columns: unwrapped)
        guard withUsage, let usage = whole.range(of: "\nUsage: ") else { return message }
        let lines = whole[usage.lowerBound...].dropFirst().split(separator: "\n")
        return ([message] + lines.map { $0.hasPrefix("  See ") ? String($0.dropFirst(2)) : String($0) })
            .joined(separator: "\n")
    }

    /// Returns `narrow`, but with the examples of `wide`, because a user cannot copy an example that is wrapped.
    static func withWholeExamples(_ narrow: String, _ wide: String) -> String {
        let lines = narrow.split(separator: "\n", omittingEmptySubsequences: false)
        let wideLines = wide.split(separator: "\n", omittingEmptySubsequences: false)
        guard let place = examples(lines), let whole = examples(wideLines) else { return narrow }
        return (lines[..<place.lowerBound] + wideLines[whole] + lines[place.upperBound...]).joined(separator: "\n")
    }

    /// Returns the range of lines from the heading of the examples to the next blank line, or nil if there is no
    /// heading.
    private static func examples(_ lines: [Substring]) -> Range<Int>? {
        guard let start = lines.firstIndex(of: "Examples:") else { return nil }
        return start..<(lines[start...].firstIndex(of: "") ?? lines.endIndex)
    }

    /// Adds a full stop, unless the message has several lines.
    private static func sentence(_ message: String) -> String {
        guard let last = message.last, !message.contains("\n"), !".?!:".contains(last) else { return message }
        return message + "."
    }
}

extension Output {
    /// The width of the help in columns. The parser needs a minimum width for the names and descriptions of options.
    var helpColumns: Int { max(40, isTerminal ? size().columns : TerminalSize.standard.columns) }
}
