import ArgumentParser
import NightshiftAPI

/// The location permission of an app as an option: `--always`, `--when-in-use`, `--deny` or `--ask`.
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
        case .always: "Allow the location always. Region events and significant changes wake the app."
        case .whenInUse: "Allow the location while the app is in use. Location events do not wake it."
        case .deny: "Deny the location. The app's regions are kept, and monitored again once you allow it."
        case .ask: "Reset the permission, so that the app may ask you again."
        }
    }
}
