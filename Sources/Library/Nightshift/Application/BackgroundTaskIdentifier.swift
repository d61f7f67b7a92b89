/// The identifier of a background task begun with
/// ``Application/beginBackgroundTask(withName:expirationHandler:caller:)``.
///
/// An identifier is unique within its process.
public struct BackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The identifier of a task that could not be begun. Its raw value is the same as in UIKit.
    public static let invalid = BackgroundTaskIdentifier(rawValue: 0)
}
