public import Foundation

/// A file that is shown with a notification. Attachments are not supported on this system, so the initialiser throws.
public final class UNNotificationAttachment: NSObject, Sendable {
    public let identifier: String
    public let url: URL
    /// The uniform type identifier of the file.
    public let type: String

    /// Throws ``UNError/Code/attachmentUnrecognizedType``. This initialiser never creates an attachment.
    public init(identifier: String, url: URL, options: [AnyHashable: Any]? = nil) throws {
        throw UNError(
            .attachmentUnrecognizedType,
            "Attachments are not supported on this system. Send the notification without \(url.lastPathComponent).")
    }
}
