import Foundation
import NightshiftAPI

/// What the page has to know before it asks the service: the words of the closed vocabularies, written once in Swift, and
/// where downloads go unless somebody says otherwise.
struct Setup: Encodable, Sendable {
    var version = NightshiftVersion.current
    var downloads: String
    var decisions = Self.words(Decision.self) { $0.sentence }
    var waits = Self.words(WaitReason.self) { $0.sentence }
    var exits = Self.words(ExitCause.self) { $0.sentence }
    var wakes = Self.words(WakeReason.self) { $0.sentence }
    var stintEnds = Self.words(BackgroundStint.End.self) { $0.sentence }
    var awake = Self.words(AwakeReason.self) { $0.sentence }
    var windows = Self.words(WindowReason.self) { $0.sentence }
    /// Causes of exits for which the service has ended the app.
    var kills = ExitCause.allCases.filter { $0.code != nil }.map(\.rawValue)
    /// What a value of each key of the device looks like that is put in place for trials.
    var deviceKeys = Dictionary(uniqueKeysWithValues: DeviceKey.allCases.map { ($0.rawValue, $0.grammar) })

    private static func words<Value: CaseIterable & RawRepresentable<String>>(
        _ type: Value.Type, _ sentence: (Value) -> String
    ) -> [String: String] {
        Dictionary(uniqueKeysWithValues: Value.allCases.map { ($0.rawValue, sentence($0)) })
    }
}

extension Setup {
    /// The user's folder for downloads, by the user directories of freedesktop.org; `Downloads` in his home unless they say.
    ///
    /// - Parameter userDirectories: the text of `user-dirs.dirs`.
    static func downloads(userDirectories: String?, home: String) -> String {
        for line in (userDirectories ?? "").split(separator: "\n") where line.hasPrefix("XDG_DOWNLOAD_DIR=") {
            var value = line.dropFirst("XDG_DOWNLOAD_DIR=".count)
            guard value.count > 2, value.first == "\"", value.last == "\"" else { continue }
            value = value.dropFirst().dropLast()
            if value.hasPrefix("/") { return String(value) }
            if value.hasPrefix("$HOME/") { return home + value.dropFirst("$HOME".count) }
        }
        return home + "/Downloads"
    }
}
