import ArgumentParser
import NightshiftAPI

/// The subject of `show` or `why`, as it is typed.
enum SubjectArgument: Hashable, Sendable {
    /// `12`, `#12` as the page writes it, or `12-20`.
    case tasks(TaskRange)
    /// Something else: the id or name of an app, the name, file or URL of a transfer, a push's id, a region's identifier.
    case name(String)

    static let help = ArgumentHelp(
        "The number, name or URL of a transfer, the id or name of an app, the id of a push, or the identifier of a region.",
        valueName: "id")

    static func parse(_ text: String) throws -> SubjectArgument {
        guard !text.isEmpty else { throw ValidationError("a name is not empty") }
        let digits = text.hasPrefix("#") ? String(text.dropFirst()) : text
        if digits.allSatisfy({ "0"..."9" ~= $0 || $0 == "-" }), let range = try? TaskRange.parse(digits) {
            return .tasks(range)
        }
        return .name(text)
    }
}
