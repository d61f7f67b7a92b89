import Foundation
import Glibc
import NightshiftAPI

/// The units of systemd in which apps run, so that they are independent of the service's own unit: a restart of the service
/// does not affect them, and they do not inherit its restrictions.
///
/// The names follow systemd's convention for desktops, `app-LAUNCHER-ID@RANDOM.service`. Here the random part begins with
/// a tag of the service's home.
package struct AppUnits: Sendable {
    /// Asks systemd to start a unit whose program is the service's, with the given arguments and standard input. Returns
    /// nil, or the reason why systemd refuses.
    package var start:
        @Sendable (_ name: String, _ description: String, _ arguments: [String], _ input: Int32) -> String?
    /// Returns the end of the unit's program; nil if systemd has not noticed it.
    package var end: @Sendable (_ name: String) -> ProcessEnd?
    /// Forgets a unit whose program has ended.
    package var remove: @Sendable (_ name: String) -> Void
    /// Returns the units that match a pattern of glob(7) and whose programs have ended.
    package var ended: @Sendable (_ pattern: String) -> [String]

    /// Moves a process into a scope, which systemd creates if it does not exist.
    package var gather: @Sendable (_ scope: String, _ process: Int32) -> Void

    package init(
        start: @escaping @Sendable (String, String, [String], Int32) -> String?,
        end: @escaping @Sendable (String) -> ProcessEnd?, remove: @escaping @Sendable (String) -> Void,
        ended: @escaping @Sendable (String) -> [String],
        gather: @escaping @Sendable (String, Int32) -> Void = { _, _ in }
    ) {
        self.start = start
        self.end = end
        self.remove = remove
        self.ended = ended
        self.gather = gather
    }

    /// The arguments with which the service's program becomes the program of an app.
    package static let arguments = ["launch-app"]

    static let prefix = "app-nightshift-"
    private static let suffix = ".service"

    /// Returns a new name for a unit of an app. It has at most 255 bytes.
    static func name(of app: AppID, home: String) -> String {
        let random = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        return "\(prefix)\(escaped(app.shortFileName))@\(AppID.tag(of: home))-\(random)\(suffix)"
    }

    /// Returns the name of the scope of a home's log keepers.
    static func logScope(home: String) -> String { "nightshift-logs-\(AppID.tag(of: home)).scope" }

    /// Returns a pattern of the names of all units of a home.
    static func pattern(home: String) -> String { "\(prefix)*@\(AppID.tag(of: home))-*\(suffix)" }

    /// Returns whether a unit belongs to a service with this home, or with any home if it is nil.
    static func isUnit(_ name: some StringProtocol, home: String? = nil) -> Bool {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix), let at = name.lastIndex(of: "@") else { return false }
        let tag = name[name.index(after: at)...].prefix { $0 != "-" }
        guard tag.utf8.count == 16, tag.allSatisfy(\.isHexDigit) else { return false }
        return home.map { tag == AppID.tag(of: $0) } ?? true
    }

    /// Returns a text with the escapes of systemd.unit(5). A name that would be too long is replaced by its tag.
    static func escaped(_ text: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.".utf8)
        var result = ""
        for (index, byte) in text.utf8.enumerated() {
            if plain.contains(byte), index > 0 || byte != UInt8(ascii: ".") {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16)
                result += "\\x" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return result.utf8.count <= 180 ? result : AppID.tag(of: text)
    }
}
