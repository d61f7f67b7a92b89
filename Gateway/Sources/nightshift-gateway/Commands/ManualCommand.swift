import ArgumentParser
import Foundation
import Manual

/// The command that writes this program's manual page, for `make install-gateway`.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual",
        abstract: "Print the manual page in mdoc(7).",
        discussion: "The page's date is SOURCE_DATE_EPOCH if it is set, and today otherwise.",
        shouldDisplay: false)

    func run() throws {
        let date = ProcessInfo.processInfo.environment["SOURCE_DATE_EPOCH"].flatMap(Double.init)
            .map(Date.init(timeIntervalSince1970:))
        let page = try ManualPage(
            dump: Data(NightshiftGateway._dumpHelp().utf8), date: date ?? Date(), version: NightshiftVersion.current,
            related: [])
        try FileHandle.standardOutput.write(contentsOf: Data(page.text.utf8))
    }
}
