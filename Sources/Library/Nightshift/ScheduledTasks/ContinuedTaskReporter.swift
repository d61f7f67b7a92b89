import Executors
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// A reporter of a continued task's title and progress. It sends them to the service when they have changed, at most
/// four times a second.
final class ContinuedTaskReporter: Sendable {
    /// The progress of the task. Other objects retain the progress object only briefly.
    let progress: ObservedProgress
    private let identifier: String
    private let queue = WorkQueue()
    private let state: Mutex<State>

    private struct State {
        weak var connection: ServiceConnection?
        var title: String
        var subtitle: String
        var isScheduled = false
        var isOver = false
        /// Whether parts of the work have their own progress objects. Foundation on Linux has no key-value observing,
        /// so changes of these objects cause no notification.
        var hasChildren = false
        /// The number of completed units that the app assigned last.
        var completed: Int64 = 0
        var total: Int64 = 0
        var lastReport: ContinuousClock.Instant?
        var reported: ScheduledTaskProgress?
    }

    private static let interval: Duration = .milliseconds(250)
    private static let timeout: Duration = .seconds(2)

    init(_ task: ScheduledTask, on connection: ServiceConnection) {
        identifier = task.identifier
        state = Mutex(State(connection: connection, title: task.title ?? "", subtitle: task.subtitle ?? ""))
        progress = ObservedProgress()
        progress.observe { [weak self] completed, total, hasChildren in
            self?.state.withLock { state in
                (state.completed, state.total) = (completed, total)
                state.hasChildren = state.hasChildren || hasChildren
            }
            self?.changed()
        }
    }

    var words: (title: String, subtitle: String) { state.withLock { ($0.title, $0.subtitle) } }

    func setWords(_ title: String, _ subtitle: String) {
        state.withLock { ($0.title, $0.subtitle) = (title, subtitle) }
        changed()
    }

    /// Stops the reports after the task was completed.
    func end() {
        state.withLock { $0.isOver = true }
    }

    /// Reports the progress again after the service was unreachable.
    func onReconnect() {
        let isUntold = state.withLock { $0.lastReport != nil && $0.reported == nil }
        if isUntold { changed() }
    }

    private func changed() {
        let pause = state.withLock { state -> Duration? in
            guard !state.isOver, !state.isScheduled else { return nil }
            state.isScheduled = true
            return state.lastReport.map { max(.zero, Self.interval - (.now - $0)) } ?? .zero
        }
        guard let pause else { return }
        queue.add(after: pause) { [weak self] in self?.report() }
    }

    private func report() {
        let (connection, news, hasChildren) = state.withLock { state in
            // Changes after this point are part of the next report.
            state.isScheduled = false
            state.lastReport = .now
            let news = ScheduledTaskProgress(
                title: state.title, subtitle: state.subtitle, completedUnits: state.total > 0 ? state.completed : nil,
                totalUnits: state.total > 0 ? state.total : nil)
            return (state.isOver ? nil : state.connection, news, state.hasChildren)
        }
        guard let connection else { return }
        send(hasChildren ? withChildren(news) : news, on: connection)
        if hasChildren { changed() }
    }

    /// Returns the same progress, but with the completed units of the child progress objects included.
    private func withChildren(_ news: ScheduledTaskProgress) -> ScheduledTaskProgress {
        var news = news
        news.completedUnits = news.totalUnits.map { total in
            Int64(saturating: (progress.fractionCompleted * Double(total)).rounded(.down))
        }
        return news
    }

    private func send(_ news: ScheduledTaskProgress, on connection: ServiceConnection) {
        guard state.withLock({ $0.reported != news }) else { return }
        var isHeard = false
        do {
            try connection.notify(.report(news, ofTask: identifier), hasty: true, timeout: Self.timeout)
            isHeard = true
        } catch {
            // The progress is reported when the service is back, or at the next change.
        }
        state.withLock { $0.reported = isHeard ? news : nil }
    }
}

/// A progress object that notifies an observer of its changes.
final class ObservedProgress: Progress, @unchecked Sendable {
    // This class is unchecked because its base class is. The added state is in a mutex.

    typealias Observer = @Sendable (_ completed: Int64, _ total: Int64, _ hasChildren: Bool) -> Void

    /// A struct for the observer. A mutex whose value is a function would wrap the function again at every access.
    private struct Watch {
        var observer: Observer?
    }

    private let watch = Mutex(Watch())

    init() {
        super.init(parent: nil, userInfo: nil)
    }

    func observe(_ observer: @escaping Observer) {
        watch.withLock { $0.observer = observer }
    }

    private func tell(hasChildren: Bool = false) {
        watch.withLock(\.observer)?(super.completedUnitCount, super.totalUnitCount, hasChildren)
    }

    override var totalUnitCount: Int64 {
        get { super.totalUnitCount }
        set {
            super.totalUnitCount = newValue
            tell()
        }
    }

    override var completedUnitCount: Int64 {
        get { super.completedUnitCount }
        set {
            super.completedUnitCount = newValue
            tell()
        }
    }

    override func addChild(_ child: Progress, withPendingUnitCount inUnitCount: Int64) {
        super.addChild(child, withPendingUnitCount: inUnitCount)
        tell(hasChildren: true)
    }

    override func becomeCurrent(withPendingUnitCount unitCount: Int64) {
        super.becomeCurrent(withPendingUnitCount: unitCount)
        tell(hasChildren: true)
    }
}
