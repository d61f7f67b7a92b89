public import Foundation

extension NSString {
    /// Returns the text for `key` in the app's `Localizable.strings`, or `key` itself, and replaces the format
    /// specifiers in it with `arguments`.
    ///
    /// The format specifiers are those for objects, as on iOS: `%@`, `%1$@`. The text is looked up immediately, whereas
    /// iOS looks it up when it shows the notification.
    public class func localizedUserNotificationString(forKey key: String, arguments: [Any]?) -> String {
        let format = Bundle.main.localizedString(forKey: key, value: nil, table: nil)
        guard let arguments, !arguments.isEmpty else { return format }
        return String(format: format, arguments: arguments.map { NSString(string: String(describing: $0)) })
    }
}
