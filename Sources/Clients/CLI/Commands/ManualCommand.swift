import ArgumentParser
import Foundation
import Manual
import NightshiftAPI

/// The command that prints manual pages for `make install`. The pages are made from the help of the programs.
struct ManualCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual",
        abstract: "Print a manual page in mdoc(7).",
        discussion: """
            The page describes nightshift, or with - the program whose output of --experimental-dump-help is on standard \
            input. Its date is SOURCE_DATE_EPOCH if that is set, and today otherwise.

            Examples:
              nightshift manual > nightshift.1
              nightshiftd --experimental-dump-help | nightshift manual - > nightshiftd.1
            """,
        shouldDisplay: false)

    @Argument(help: "- to read the help of a program from standard input.")
    var input: String?

    @OptionGroup var format: JSONOption

    private struct Document: Encodable {
        var page: String
    }

    func validate() throws {
        guard input == nil || input == "-" else {
            throw ValidationError("The only valid argument is -, which reads standard input.")
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let dump =
            input == nil
            ? Data(NightshiftCommand._dumpHelp().utf8) : try FileHandle.standardInput.readToEnd() ?? Data()
        let date = invocation.environment["SOURCE_DATE_EPOCH"].flatMap(Double.init).map(
            Date.init(timeIntervalSince1970:))
        do {
            let page = try ManualPage(
                dump: dump, date: date ?? invocation.now(), version: NightshiftVersion.current,
                related: ["nightshift", "nightshiftd"])
            if format.json {
                try invocation.json(Document(page: page.text))
            } else {
                invocation.output.write(page.text)
            }
            return .whole
        } catch is DecodingError {
            throw CommandFailure.usage(
                "Standard input is not the output of a program's --experimental-dump-help.")
        }
    }
}
