public import Foundation
import NightshiftAPI

/// A request to continue work that the user has just started, even when the app leaves the foreground.
///
/// Submit it while the app is in the foreground. The user sees the title, the subtitle and the progress, and can cancel
/// the task. ``BGTaskRequest/earliestBeginDate`` is ignored.
public final class BGContinuedProcessingTaskRequest: BGTaskRequest {
    /// A strategy for a request that cannot run immediately.
    public enum SubmissionStrategy: Int, Sendable {
        /// A strategy that refuses the request with ``BGTaskScheduler/Error/Code/immediateRunIneligible``.
        case fail = 0
        /// A strategy that lets the request wait until it can run.
        case queue = 1
    }

    /// The resources that a task needs in addition to the processor.
    public struct Resources: OptionSet, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// A graphics processor. ``BGTaskScheduler/supportedResources`` does not contain it, because the service cannot
        /// reserve a graphics processor for a task.
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
