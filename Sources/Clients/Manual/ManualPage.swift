package import Foundation

/// A manual page in mdoc(7), generated from the help of a program.
package struct ManualPage {
    package var text: String

    /// Generates the page.
    ///
    /// - Parameters:
    ///   - dump: the output of the program with `--experimental-dump-help`.
    ///   - date: the date at the foot of the page.
    ///   - version: the version of Nightshift.
    ///   - related: the names of related pages in section 1.
    package init(dump: Data, date: Date, version: String, related: [String]) throws {
        let command = try JSONDecoder().decode(ProgramHelp.self, from: dump).command
        let name = command.commandName
        var page = MdocText()
        page.macro("Dd", Self.words(date))
        page.macro("Dt", name.uppercased(), "1")
        page.macro("Os", "Nightshift", version)
        page.macro("Sh", "NAME")
        page.macro("Nm", name)
        page.macro("Nd", Self.phrase(command.abstract ?? name))
        page.macro("Sh", "SYNOPSIS")
        page.macro("Nm")
        page.macro("Ar", "command")
        page.macro("Op", "Ar", "argument", "...")
        page.macro("Sh", "DESCRIPTION")
        page.paragraphs(command.discussion ?? command.abstract ?? "")
        page.macro("Pp")
        page.prose("The options of the program are:")
        page.options(command.visibleArguments)
        page.macro("Sh", "COMMANDS")
        for subcommand in command.visibleSubcommands { Self.describe(subcommand, after: name, &page) }
        let others = related.filter { $0 != name }.sorted()
        if !others.isEmpty {
            page.macro("Sh", "SEE ALSO")
            for (index, other) in others.enumerated() {
                page.macro("Xr", other, "1", index == others.count - 1 ? "" : ",")
            }
        }
        text = page.text
    }

    /// Describes one command on the page.
    ///
    /// - Parameter path: the program's name and the commands before this one.
    private static func describe(_ command: ProgramHelp.Command, after path: String, _ page: inout MdocText) {
        let name = "\(path) \(command.commandName)"
        page.macro("Ss", name)
        page.prose(command.abstract ?? "")
        let arguments = command.visibleArguments.filter { !$0.isCommon }
        page.literalLine(synopsis(name, arguments, command))
        page.paragraphs(command.discussion ?? "", isFollowing: true)
        page.options(arguments)
        for subcommand in command.visibleSubcommands { describe(subcommand, after: name, &page) }
    }

    private static func synopsis(
        _ name: String, _ arguments: [ProgramHelp.Argument], _ command: ProgramHelp.Command
    ) -> String {
        var words = [name]
        if arguments.contains(where: { $0.kind != .positional }) { words.append("[options]") }
        for argument in arguments where argument.kind == .positional {
            let word = (argument.valueName ?? "value") + (argument.isRepeating ? " ..." : "")
            words.append(argument.isOptional ? "[\(word)]" : word)
        }
        if !command.visibleSubcommands.isEmpty { words.append("command") }
        return words.joined(separator: " ")
    }

    /// Returns a sentence as a phrase: "Downloads files." becomes "downloads files".
    private static func phrase(_ sentence: String) -> String {
        let text = sentence.hasSuffix(".") ? sentence.dropLast() : sentence[...]
        return text.prefix(1).lowercased() + text.dropFirst()
    }

    /// Returns text such as "November 27, 2026". The date is in UTC, so that every machine generates the same page.
    private static func words(_ date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day], from: date)
        let months = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ]
        return "\(months[(parts.month ?? 1) - 1]) \(parts.day ?? 1), \(parts.year ?? 1970)"
    }
}
