public import Foundation

extension NSString {
    /// Returns the text for `key` from the app's `Localizable.strings`, with its format specifiers replaced by
    /// `arguments`. If there is no text for `key`, the key itself is used.
    ///
    /// The format specifiers are those for objects, as on iOS: `%@`, `%1$@`. The text is looked up immediately, whereas
    /// iOS looks up the text when it shows the notification.
    public class func localizedUserNotificationString(forKey key: String, arguments: [Any]?) -> String {
        let format = Bundle.main.localizedString(forKey: key, value: nil, table: nil)
        guard let arguments, !arguments.isEmpty else { return format }
        return String(format: format, arguments: arguments.map { NSString(string: String(describing: $0)) })
    }
}
