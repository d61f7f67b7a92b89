import ArgumentParser

/// The option that turns background refresh on or off: `--on` or `--off`.
enum RefreshSwitch: String, EnumerableFlag {
    case on
    case off

    var isOn: Bool { self == .on }

    static func help(for value: RefreshSwitch) -> ArgumentHelp? {
        switch value {
        case .on: "Turn background refresh on."
        case .off: "Turn background refresh off."
        }
    }
}
