import ArgumentParser
import NightshiftAPI

/// The subject of `show` or `why` on the command line.
enum SubjectArgument: Hashable, Sendable {
    /// A range of transfers: `12`, `#12` as on the page, or `12-20`.
    case tasks(TaskRange)
    /// The id or name of an app; the name, file or URL of a transfer; the id of a push; or the identifier of a region.
    case name(String)

    static let help = ArgumentHelp(
        "The number, name or URL of a transfer, the id or name of an app, the id of a push, or the identifier of a region.",
        valueName: "id")

    /// The help of commands that accept only transfers.
    static let taskHelp = ArgumentHelp(
        "The number, name or URL of a transfer, or a range of numbers such as 12-20.", valueName: "id")

    static func parse(_ text: String) throws -> SubjectArgument {
        guard !text.isEmpty else { throw ValidationError("a name must not be empty") }
        let digits = text.hasPrefix("#") ? String(text.dropFirst()) : text
        if digits.allSatisfy({ "0"..."9" ~= $0 || $0 == "-" }), let range = try? TaskRange.parse(digits) {
            return .tasks(range)
        }
        return .name(text)
    }
}
