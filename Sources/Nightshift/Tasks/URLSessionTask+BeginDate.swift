public import Foundation
public import FoundationNetworking

/// Gives tasks a begin date that can be set without a warning.
///
/// FoundationNetworking deprecates its own, because it does nothing there. The compiler prefers this one where a date is set,
/// whose type is not optional; whatever reads the date, or sets nil or a `Date?`, has the class's.
public protocol DelayableTask: URLSessionTask {}

extension URLSessionTask: DelayableTask {}

extension DelayableTask {
    /// Not before this the task begins; takes effect in background sessions, when set before the task is resumed for the first time.
    public var earliestBeginDate: Date {
        get { (self as URLSessionTask).earliestBeginDate ?? .distantPast }
        set { (self as URLSessionTask).earliestBeginDate = newValue as Date? }
    }
}
