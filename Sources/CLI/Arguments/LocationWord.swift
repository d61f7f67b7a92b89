import ArgumentParser
import NightshiftAPI

/// Its user's word on an app's location as typed: `--always`, `--when-in-use`, `--deny` or `--ask`.
enum LocationWord: String, EnumerableFlag {
    case always
    case whenInUse
    case deny
    case ask

    var permission: LocationPermission {
        switch self {
        case .always: .always
        case .whenInUse: .whenInUse
        case .deny: .denied
        case .ask: .ask
        }
    }

    static func help(for value: LocationWord) -> ArgumentHelp? {
        switch value {
        case .always: "Let it watch regions and changes, also in the background."
        case .whenInUse: "Let it while you see it. Nothing wakes it."
        case .deny: "Let it not. What it watches is kept, and goes on once you allow it."
        case .ask: "Take your word back, so that it may ask you again."
        }
    }
}
