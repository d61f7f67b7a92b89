public import Foundation
public import FoundationNetworking

/// A protocol that gives tasks a begin date that can be set without a compiler warning.
///
/// FoundationNetworking deprecates its own property, because it does nothing there. The compiler prefers this one if
/// you set a date that is not optional. Code that reads the date, or sets nil or a `Date?`, uses the property of the
/// class.
public protocol DelayableTask: URLSessionTask {}

extension URLSessionTask: DelayableTask {}

extension DelayableTask {
    /// The time before which the task does not begin. It has an effect in background sessions, if it is set before the
    /// task is resumed for the first time.
    public var earliestBeginDate: Date {
        get { (self as URLSessionTask).earliestBeginDate ?? .distantPast }
        set { (self as URLSessionTask).earliestBeginDate = newValue as Date? }
    }
}
