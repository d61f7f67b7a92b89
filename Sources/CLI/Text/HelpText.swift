import ArgumentParser
import Foundation

/// The argument parser's help and messages as this program prints them.
enum HelpText {
    /// Wider than any line of the help, so that none is wrapped.
    private static let unwrapped = 10_000

    /// The parser's message for `error`: help, a version, or a script.
    static func message(for error: any Error, columns: Int) -> String {
        withWholeExamples(
            NightshiftCommand.fullMessage(for: error, columns: columns),
            NightshiftCommand.fullMessage(for: error, columns: unwrapped))
    }

    /// The help of a command.
    static func help(for command: any ParsableCommand.Type, columns: Int) -> String {
        withWholeExamples(
            NightshiftCommand.helpMessage(for: command, columns: columns),
            NightshiftCommand.helpMessage(for: command, columns: unwrapped))
    }

    /// A mistake in the arguments: a sentence, how the command is used, and where there is more.
    static func mistake(_ error: any Error, withUsage: Bool) -> String {
        let message = sentence(NightshiftCommand.message(for: error))
        let whole = NightshiftCommand.fullMessage(for: error, columns: unwrapped)
        guard withUsage, let usage = whole.range(of: "\nUsage: ") else { return message }
        let lines = whole[usage.lowerBound...].dropFirst().split(separator: "\n")
        return ([message] + lines.map { $0.hasPrefix("  See ") ? String($0.dropFirst(2)) : String($0) })
            .joined(separator: "\n")
    }

    /// `narrow` with the examples of `wide`: a command that is broken into lines cannot be copied.
    static func withWholeExamples(_ narrow: String, _ wide: String) -> String {
        let lines = narrow.split(separator: "\n", omittingEmptySubsequences: false)
        let wideLines = wide.split(separator: "\n", omittingEmptySubsequences: false)
        guard let place = examples(lines), let whole = examples(wideLines) else { return narrow }
        return (lines[..<place.lowerBound] + wideLines[whole] + lines[place.upperBound...]).joined(separator: "\n")
    }

    /// The lines from the heading of the examples to the blank line below them.
    private static func examples(_ lines: [Substring]) -> Range<Int>? {
        guard let start = lines.firstIndex(of: "Examples:") else { return nil }
        return start..<(lines[start...].firstIndex(of: "") ?? lines.endIndex)
    }

    /// With a full stop, unless a list follows.
    private static func sentence(_ message: String) -> String {
        guard let last = message.last, !message.contains("\n"), !".?!:".contains(last) else { return message }
        return message + "."
    }
}

extension Output {
    /// The columns that help is laid out in. In fewer the parser has no room beside the names of options.
    var helpColumns: Int { max(40, isTerminal ? size().columns : TerminalSize.standard.columns) }
}
