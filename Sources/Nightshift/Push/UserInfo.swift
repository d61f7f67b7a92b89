import Foundation

/// The JSON objects that notifications carry, as apps have them: `userInfo`.
enum UserInfo {
    /// The object's members: `String`, `NSNumber`, `NSNull`, arrays and dictionaries. Empty where the text is no
    /// object.
    static func dictionary(_ json: String) -> [AnyHashable: Any] {
        let object = try? JSONSerialization.jsonObject(with: Data(json.utf8))
        return object as? [AnyHashable: Any] ?? [:]
    }

    /// Nil for what JSON cannot express, such as a key that is no string, a date, or data.
    static func json(_ userInfo: [AnyHashable: Any]) -> String? {
        guard let object = userInfo as? [String: Any], JSONSerialization.isValidJSONObject(object),
            let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}
