public import Foundation
import NightshiftAPI

/// A request to go on with work that the app's user has just begun, also when the app leaves the front.
///
/// Submitted in front of the user, who sees the title, the subtitle and the progress, and may cancel it. Its
/// ``BGTaskRequest/earliestBeginDate`` is not looked at.
public final class BGContinuedProcessingTaskRequest: BGTaskRequest {
    /// What becomes of a request for which there is no room now.
    public enum SubmissionStrategy: Int, Sendable {
        /// It is refused, with ``BGTaskScheduler/Error/Code/immediateRunIneligible``.
        case fail = 0
        /// It waits.
        case queue = 1
    }

    /// What a task needs beside the processor.
    public struct Resources: OptionSet, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Not in ``BGTaskScheduler/supportedResources``: nobody keeps a graphics processor free for a task.
        public static let gpu = Resources(rawValue: 1)
    }

    public var title: String
    public var subtitle: String
    public var strategy = SubmissionStrategy.queue
    public var requiredResources: Resources = []

    public init(identifier: String, title: String, subtitle: String) {
        self.title = title
        self.subtitle = subtitle
        super.init(forIdentifier: identifier)
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        let copy = BGContinuedProcessingTaskRequest(identifier: identifier, title: title, subtitle: subtitle)
        copy.earliestBeginDate = earliestBeginDate
        copy.strategy = strategy
        copy.requiredResources = requiredResources
        return copy
    }

    override var scheduledTask: ScheduledTask {
        var task = ScheduledTask(identifier: identifier, kind: .continued)
        task.title = title
        task.subtitle = subtitle
        task.strategy = strategy == .fail ? .fail : .queue
        return task
    }
}
