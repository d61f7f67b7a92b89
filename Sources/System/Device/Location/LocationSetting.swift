import NightshiftAPI

/// A location override, set by the user or by a trace.
enum LocationSetting: Hashable, Sendable {
    case place(LocationOverride)
    /// The override hides the location.
    case none

    /// Parses a value of ``DeviceKey/location``. Returns nil if the text is not such a value.
    init?(_ text: String) {
        if text == "none" {
            self = .none
        } else if let place = LocationOverride(text) {
            self = .place(place)
        } else {
            return nil
        }
    }

    /// The text that API answers show.
    var shown: String {
        switch self {
        case .place: DeviceKey.hiddenPlace
        case .none: "none"
        }
    }
}
