import NightshiftAPI

/// A location that an override or a trace sets.
enum LocationSetting: Hashable, Sendable {
    case place(LocationOverride)
    /// The location is withheld.
    case none

    /// Returns nil for a text that is not a value of ``DeviceKey/location``.
    init?(_ text: String) {
        if text == "none" {
            self = .none
        } else if let place = LocationOverride(text) {
            self = .place(place)
        } else {
            return nil
        }
    }

    /// The form that is shown in answers.
    var shown: String {
        switch self {
        case .place: DeviceKey.hiddenPlace
        case .none: "none"
        }
    }
}
