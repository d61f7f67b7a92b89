public import Foundation

/// A file that is shown with a notification. Attachments are not supported on this system, so the initialiser throws.
public final class UNNotificationAttachment: NSObject, Sendable {
    public let identifier: String
    public let url: URL
    /// The type of the file, as a uniform type identifier.
    public let type: String

    /// Always throws ``UNError/Code/attachmentUnrecognizedType``.
    public init(identifier: String, url: URL, options: [AnyHashable: Any]? = nil) throws {
        throw UNError(
            .attachmentUnrecognizedType,
            "Attachments are not supported on this system. Send the notification without \(url.lastPathComponent).")
    }
}
