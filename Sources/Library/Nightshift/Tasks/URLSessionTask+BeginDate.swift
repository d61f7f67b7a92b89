public import Foundation
public import FoundationNetworking

/// A protocol that gives tasks an `earliestBeginDate` that can be set without a compiler warning.
///
/// FoundationNetworking deprecates its own property, because that property has no effect there. If you set a date that
/// is not optional, the compiler prefers the property of this protocol. Code that reads the date, or sets nil or a
/// `Date?`, uses the property of the class.
public protocol DelayableTask: URLSessionTask {}

extension URLSessionTask: DelayableTask {}

extension DelayableTask {
    /// The time before which the task does not begin. It has an effect only in background sessions, and only if you set
    /// it before the task is resumed for the first time.
    public var earliestBeginDate: Date {
        get { (self as URLSessionTask).earliestBeginDate ?? .distantPast }
        set { (self as URLSessionTask).earliestBeginDate = newValue as Date? }
    }
}
