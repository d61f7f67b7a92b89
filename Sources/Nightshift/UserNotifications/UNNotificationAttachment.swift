public import Foundation

/// A file that a notification shows. Notifications here show none: making one throws.
open class UNNotificationAttachment: NSObject, @unchecked Sendable {
    // Unchecked because it is open, as Apple's is: its properties are constants.

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
