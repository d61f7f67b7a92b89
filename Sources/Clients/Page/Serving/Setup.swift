import Foundation
import NightshiftAPI

/// The constants that the page reads first: descriptions of the API's codes, and default folders.
struct Setup: Encodable, Sendable {
    var version = NightshiftVersion.current
    var downloads: String
    /// The user's home folder, which replaces `~` in paths.
    var home: String
    /// The names of the states of transfers, and a sentence for each kind of transfer.
    var taskStates = Self.words(TaskState.self) { $0.name }
    var tasks = Self.words(TaskKind.self) { kind in Self.words(TaskState.self) { $0.wording(kind).sentence } }
    var waits = Self.words(WaitReason.self) { $0.sentence }
    var decisions = Self.words(Decision.self) { $0.sentence }
    var appStates = Self.words(AppState.self) { $0.name }
    var exits = Self.words(ExitCause.self) { $0.sentence }
    var wakes = Self.words(WakeReason.self) { $0.wording }
    var fetchResults = Self.words(RefreshResult.self) { $0.words }
    var pushStates = Self.words(PushRecord.State.self) { $0.name }
    var regionStates = Self.words(RegionState.self) { $0.wording }
    var timelineDevice = Self.words(Timeline.DeviceActivity.self) { $0.words }
    var timelineApps = Self.words(Timeline.AppActivity.self) { $0.words }
    var timelineMarks = Self.words(Timeline.Mark.Kind.self) { $0.words }
    var stintEnds = Self.words(BackgroundRun.End.self) { $0.sentence }
    var awake = Self.words(AwakeReason.self) { $0.sentence }
    var windows = Self.words(WindowReason.self) { $0.sentence }
    /// The syntax of an override for each device key.
    var deviceKeys = Dictionary(uniqueKeysWithValues: DeviceKey.allCases.map { ($0.rawValue, $0.grammar) })

    private static func words<Value: CaseIterable & RawRepresentable<String>, Word>(
        _ type: Value.Type, _ words: (Value) -> Word
    ) -> [String: Word] {
        Dictionary(uniqueKeysWithValues: Value.allCases.map { ($0.rawValue, words($0)) })
    }
}
