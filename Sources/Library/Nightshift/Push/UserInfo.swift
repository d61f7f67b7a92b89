import Foundation

/// A converter between the `userInfo` of notifications and the JSON object that the service stores.
///
/// Apple's `userInfo` accepts any property list. If a value cannot be represented exactly in JSON, such as a date or
/// data, the whole `userInfo` is sent as a binary property list in the object's only member, ``propertyListKey``.
enum UserInfo {
    /// Returns the payload from a provider. The payload is made of `String`, `NSNumber`, `NSNull`, arrays and
    /// dictionaries. It is empty if the text is not a JSON object.
    static func remote(_ json: String) -> [AnyHashable: Any] {
        let object = try? JSONSerialization.jsonObject(with: Data(json.utf8))
        return object as? [AnyHashable: Any] ?? [:]
    }

    /// Returns the values that an app has set for a notification.
    static func local(_ json: String) -> [AnyHashable: Any] {
        let object = remote(json)
        guard object.count == 1, let text = object[propertyListKey] as? String, let data = Data(base64Encoded: text),
            let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
        else { return object }
        return list
    }

    /// Returns the JSON object for the values. Returns nil if a value fits neither JSON nor a property list, or if a
    /// key is not a string.
    static func json(_ userInfo: [AnyHashable: Any]) -> String? {
        guard let object = userInfo as? [String: Any] else { return nil }
        if object.keys.elementsEqual([propertyListKey]) || !JSONSerialization.isValidJSONObject(object) {
            guard let data = propertyList(object) else { return nil }
            return text([propertyListKey: data.base64EncodedString()])
        }
        return text(object)
    }

    private static let propertyListKey = "nightshift.propertyList"

    private static func text(_ object: [String: Any]) -> String? {
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
        return data.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func propertyList(_ object: [String: Any]) -> Data? {
        guard PropertyListSerialization.propertyList(object, isValidFor: .binary) else { return nil }
        return try? PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0)
    }
}
