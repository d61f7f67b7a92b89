public import Foundation
import NightshiftAPI

/// A task for work that the user has started in the foreground app. The task has no time limit, but the user can cancel
/// it.
///
/// Report the task's ``progress``. The user sees the progress, updated at most four times a second.
public final class BGContinuedProcessingTask: BGTask, ProgressReporting, @unchecked Sendable {
    private let reporter: ContinuedTaskReporter

    init(
        _ task: ScheduledTask, on connection: ServiceConnection,
        onCompletion: @escaping @Sendable (_ success: Bool) -> Void
    ) {
        reporter = ContinuedTaskReporter(task, on: connection)
        super.init(identifier: task.identifier, onCompletion: onCompletion)
    }

    public var title: String { reporter.words.title }

    public var subtitle: String { reporter.words.subtitle }

    public var progress: Progress { reporter.progress }

    public func updateTitle(_ title: String, subtitle: String) {
        reporter.setWords(title, subtitle)
    }

    override func completed() {
        reporter.end()
    }

    override func onReconnect() {
        reporter.onReconnect()
    }
}
