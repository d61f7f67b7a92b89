public import Foundation
import NightshiftAPI

/// Work that the app's user has begun in front of it; there is no limit but its user, who may cancel it.
///
/// Report ``progress``: its user sees it, four times a second at most.
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

    override func serviceIsBack() {
        reporter.serviceIsBack()
    }
}
