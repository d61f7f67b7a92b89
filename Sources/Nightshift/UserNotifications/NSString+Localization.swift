public import Foundation

extension NSString {
    /// Returns the text for `key` in the app's `Localizable.strings`, with `arguments` in the places of its format; `key` where there is none.
    ///
    /// As on iOS the places are those of objects: `%@`, `%1$@`. On iOS the text is looked up when the notification is shown, here at once.
    public class func localizedUserNotificationString(forKey key: String, arguments: [Any]?) -> String {
        let format = Bundle.main.localizedString(forKey: key, value: nil, table: nil)
        guard let arguments, !arguments.isEmpty else { return format }
        return String(format: format, arguments: arguments.map { NSString(string: String(describing: $0)) })
    }
}
