import Dispatch
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Tells the service of a continued task's title and progress, at most four times a second, and nothing twice.
final class ContinuedTaskReporter: Sendable {
    /// The task's own; nothing else holds it for long.
    let progress: ObservedProgress
    private let identifier: String
    private let queue = DispatchQueue(label: "nightshift.continued-task")
    private let state: Mutex<State>

    private struct State {
        weak var connection: ServiceConnection?
        var title: String
        var subtitle: String
        var isScheduled = false
        var isOver = false
        /// Whether parts of the work have a progress of their own. Those change without a word to anybody: Foundation on Linux has no
        /// key-value observing.
        var hasChildren = false
        var lastReport: ContinuousClock.Instant?
        var reported: ScheduledTaskProgress?
    }

    private static let interval: Duration = .milliseconds(250)
    private static let patience: Duration = .seconds(2)

    init(_ task: ScheduledTask, on connection: ServiceConnection) {
        identifier = task.identifier
        state = Mutex(State(connection: connection, title: task.title ?? "", subtitle: task.subtitle ?? ""))
        progress = ObservedProgress()
        progress.observe { [weak self] hasChildren in self?.changed(hasChildren: hasChildren) }
    }

    var words: (title: String, subtitle: String) { state.withLock { ($0.title, $0.subtitle) } }

    func setWords(_ title: String, _ subtitle: String) {
        state.withLock { ($0.title, $0.subtitle) = (title, subtitle) }
        changed(hasChildren: false)
    }

    /// The task was completed.
    func end() {
        state.withLock { $0.isOver = true }
    }

    private func changed(hasChildren: Bool) {
        let pause = state.withLock { state -> Duration? in
            state.hasChildren = state.hasChildren || hasChildren
            guard !state.isOver, !state.isScheduled else { return nil }
            state.isScheduled = true
            return state.lastReport.map { max(.zero, Self.interval - (.now - $0)) } ?? .zero
        }
        guard let pause else { return }
        queue.asyncAfter(deadline: .now() + Double(pause.components.attoseconds) / 1e18) { [weak self] in self?.report()
        }
    }

    private func report() {
        let (connection, words, hasChildren) = state.withLock { state in
            // From here on a change is the next report's.
            state.isScheduled = false
            state.lastReport = .now
            return (state.isOver ? nil : state.connection, (state.title, state.subtitle), state.hasChildren)
        }
        guard let connection else { return }
        let total = progress.totalUnitCount
        let completed =
            hasChildren
            ? Int64(saturating: (progress.fractionCompleted * Double(total)).rounded(.down))
            : progress.completedUnitCount
        let news = ScheduledTaskProgress(
            title: words.0, subtitle: words.1, completedUnits: total > 0 ? completed : nil,
            totalUnits: total > 0 ? total : nil)
        if state.withLock({ $0.reported != news }) {
            let isHeard =
                (try? connection.notify(.report(news, ofTask: identifier), hasty: true, patience: Self.patience)) != nil
            state.withLock { $0.reported = isHeard ? news : nil }
        }
        if hasChildren { changed(hasChildren: true) }
    }
}

/// A progress that says when it changes.
final class ObservedProgress: Progress, @unchecked Sendable {
    // Unchecked: what it adds is in a mutex.

    private let observer = Mutex<(@Sendable (_ hasChildren: Bool) -> Void)?>(nil)

    init() {
        super.init(parent: nil, userInfo: nil)
    }

    func observe(_ observer: @escaping @Sendable (_ hasChildren: Bool) -> Void) {
        self.observer.withLock { $0 = observer }
    }

    private func tell(hasChildren: Bool = false) {
        observer.withLock { $0 }?(hasChildren)
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
