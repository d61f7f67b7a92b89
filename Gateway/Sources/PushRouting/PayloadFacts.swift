import Foundation

/// What a payload says about how it is delivered.
package struct PayloadFacts: Sendable, Hashable {
    package var isContentAvailable = false
    /// An alert, a sound or a badge.
    package var isSeen = false

    /// Nil for what is not a JSON object.
    package init?(_ payload: [UInt8]) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any] else { return nil }
        guard let aps = object["aps"] as? [String: Any] else { return }
        isContentAvailable = (aps["content-available"] as? NSNumber)?.intValue == 1
        isSeen = ["alert", "sound", "badge"].contains { aps[$0] != nil }
    }
}
