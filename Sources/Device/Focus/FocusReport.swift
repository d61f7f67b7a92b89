package import NightshiftAPI

/// What is in front, and who says so.
package struct FocusReport: Equatable, Sendable {
    /// Nil where no window is in front, and where nobody tells.
    package var application: FrontApplication?
    /// Nil where nobody tells.
    package var source: FrontStatus.Source?
    /// Why nobody tells.
    package var detail: String?

    static func nobody(_ why: String) -> FocusReport { FocusReport(detail: why) }
}

/// Waits before it believes that nothing is in front: between two windows there is nothing for a moment, and an app that is
/// taken away and brought back within that was never away.
///
/// Pure. Another application's window is believed at once.
struct FrontSettling {
    /// Seconds for which nothing has to be in front.
    static let patience = 0.5

    private(set) var told: FrontApplication?
    /// Whether anything has been told.
    private(set) var hasTold = false
    /// When it is to be told that nothing is in front, in seconds of the caller's clock.
    private(set) var deadline: Double?

    /// Takes what the display says. While nobody there tells what is in front, nothing changes: that is not known then, and an
    /// application that is in use must not be suspended for it. A display that is gone has taken its windows along.
    ///
    /// - Parameter isComplete: whether the display has said everything that it is about to say.
    /// - Returns: whether ``told`` is news.
    mutating func follow(_ report: FocusReport, isComplete: Bool, hasDisplay: Bool, now: Double) -> Bool {
        guard report.source != nil || !hasDisplay else {
            deadline = nil
            return false
        }
        // Without a display there is nobody in front to tell of, unless there was.
        guard report.source != nil || hasTold else { return false }
        return isComplete && update(report.application, now: now) || tick(now: now)
    }

    /// - Returns: whether ``told`` is news.
    mutating func update(_ application: FrontApplication?, now: Double) -> Bool {
        guard let application else {
            if !hasTold || told != nil, deadline == nil { deadline = now + Self.patience }
            return tick(now: now)
        }
        deadline = nil
        return tell(application)
    }

    /// Time has passed.
    mutating func tick(now: Double) -> Bool {
        guard let deadline, deadline <= now else { return false }
        self.deadline = nil
        return tell(nil)
    }

    private mutating func tell(_ application: FrontApplication?) -> Bool {
        let isNews = !hasTold || told != application
        told = application
        hasTold = true
        return isNews
    }
}
