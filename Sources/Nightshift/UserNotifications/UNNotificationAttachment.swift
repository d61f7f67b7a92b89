public import Foundation

/// A file that a notification shows. Notifications here show none: making one throws.
public final class UNNotificationAttachment: NSObject, Sendable {
    public let identifier: String
    public let url: URL
    /// The type of the file, as a uniform type identifier.
    public let type: String

    /// Always throws ``UNError/Code/attachmentUnrecognizedType``.
    public init(identifier: String, url: URL, options: [AnyHashable: Any]? = nil) throws {
        throw UNError(
            .attachmentUnrecognizedType,
            "Notifications have no attachments here. Send it without \(url.lastPathComponent).")
    }
}
