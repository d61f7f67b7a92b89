/// A background task that ``Application/beginBackgroundTask(withName:expirationHandler:caller:)`` has begun.
///
/// No two tasks of a process have the same one.
public struct BackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// No task: none could be begun. Its raw value is UIKit's.
    public static let invalid = BackgroundTaskIdentifier(rawValue: 0)
}
