import NightshiftAPI

/// What an override or a trace says of the place.
enum PlaceWord: Hashable, Sendable {
    case place(SetPlace)
    /// Nobody is to know where the device is.
    case none

    /// Nil for what is no value of ``DeviceKey/location``.
    init?(_ text: String) {
        if text == "none" {
            self = .none
        } else if let place = SetPlace(text) {
            self = .place(place)
        } else {
            return nil
        }
    }

    /// What answers have of it.
    var shown: String {
        switch self {
        case .place: DeviceKey.hiddenPlace
        case .none: "none"
        }
    }
}
