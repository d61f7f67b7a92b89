package import NightshiftAPI

/// The foreground application and the source of this report.
package struct FocusReport: Equatable, Sendable {
    /// The application; nil if no window is in the foreground, or if there is no source.
    package var application: FrontApplication?
    /// The source; nil without a source.
    package var source: FrontStatus.Source?
    /// The reason for which there is no source.
    package var detail: String?

    static func nobody(_ why: String) -> FocusReport { FocusReport(detail: why) }
}

/// Delays the report that no application is in the foreground. Between two windows no window is active for a moment,
/// and an app that returns within that time was never in the background.
///
/// Pure. A change to another application's window is reported at once.
struct FrontSettling {
    /// Seconds without a foreground application after which this is reported.
    static let timeout = 0.5

    private(set) var told: FrontApplication?
    /// Whether anything has been reported.
    private(set) var hasTold = false
    /// The time at which to report that nothing is in the foreground, in seconds of the caller's clock.
    private(set) var deadline: Double?

    /// Handles a report of the display. A report without a source changes nothing: the foreground is then unknown, and
    /// an application in use must not be suspended for that. If the display is gone, its windows are gone too.
    ///
    /// - Parameter isComplete: whether the display has sent its complete initial state.
    /// - Returns: whether ``told`` has changed.
    mutating func follow(_ report: FocusReport, isComplete: Bool, hasDisplay: Bool, now: Double) -> Bool {
        guard report.source != nil || !hasDisplay else {
            deadline = nil
            return false
        }
        // Without a display there is nothing to report, unless an application was reported before.
        guard report.source != nil || hasTold else { return false }
        return isComplete && update(report.application, now: now) || tick(now: now)
    }

    /// - Returns: whether ``told`` has changed.
    mutating func update(_ application: FrontApplication?, now: Double) -> Bool {
        guard let application else {
            if !hasTold || told != nil, deadline == nil { deadline = now + Self.timeout }
            return tick(now: now)
        }
        deadline = nil
        return tell(application)
    }

    /// Handles the passing of time.
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
