package import NightshiftAPI

/// The foreground application and the source of this report.
package struct FocusReport: Equatable, Sendable {
    /// The application in the foreground; nil without such an application, or without a source.
    package var application: FrontApplication?
    /// The source of the report; nil if there is no source.
    package var source: FrontStatus.Source?
    /// The reason why there is no source.
    package var detail: String?

    static func nobody(_ why: String) -> FocusReport { FocusReport(detail: why) }
}

/// A delay for the report that no application is in the foreground. During a change between windows, no window is
/// active for a moment. An app that gets the focus back within that time was never in the background.
///
/// A pure value. A change to a window of another application is reported at once.
struct FrontSettling {
    /// The number of seconds without a foreground application before the absence is reported.
    static let timeout = 0.5

    private(set) var told: FrontApplication?
    /// Whether a report has been made.
    private(set) var hasTold = false
    /// The time, in seconds of the caller's clock, at which to report that no application is in the foreground.
    private(set) var deadline: Double?

    /// Handles a report of the display. A report without a source has no effect while there is a display, because the
    /// foreground is then unknown, and an application in use must not be suspended. If there is no display, no window
    /// is in the foreground.
    ///
    /// - Parameter isComplete: whether the display has sent its complete initial state.
    /// - Returns: whether ``told`` has changed.
    mutating func follow(_ report: FocusReport, isComplete: Bool, hasDisplay: Bool, now: Double) -> Bool {
        guard report.source != nil || !hasDisplay else {
            deadline = nil
            return false
        }
        // Without a display, the absence of a foreground application is reported only after an earlier report.
        guard report.source != nil || hasTold else { return false }
        return isComplete && update(report.application, now: now) || tick(now: now)
    }

    /// Handles a change of the foreground application.
    ///
    /// - Returns: whether ``told`` has changed.
    mutating func update(_ application: FrontApplication?, now: Double) -> Bool {
        guard let application else {
            if !hasTold || told != nil, deadline == nil { deadline = now + Self.timeout }
            return tick(now: now)
        }
        deadline = nil
        return tell(application)
    }

    /// Reports the absence of a foreground application once its delay has passed. Returns whether ``told`` has changed.
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
