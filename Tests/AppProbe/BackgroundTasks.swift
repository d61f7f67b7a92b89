import Foundation
import Nightshift
import Synchronization

/// Begins and ends the background tasks of a probe according to its orders.
final class BackgroundTasks: Sendable {
    private let orders: [BackgroundTaskOrder]
    private let journal: Journal
    private let open = Mutex<[String: [BackgroundTaskIdentifier]]>([:])

    init(_ orders: Orders, _ journal: Journal) {
        self.orders = orders.backgroundTasks
        self.journal = journal
    }

    func reach(_ point: Point) {
        for order in orders where order.point == point {
            if let gate = order.gate {
                DispatchQueue.global().async { [self] in
                    wait(untilThereIs: gate)
                    execute(order)
                }
            } else if order.delay > 0 {
                DispatchQueue.global().asyncAfter(deadline: .now() + order.delay) { [self] in execute(order) }
            } else {
                execute(order)
            }
        }
    }

    private func execute(_ order: BackgroundTaskOrder) {
        switch order.deed {
        case .begin:
            if order.count == 1 { return begin(order) }
            for _ in 0..<order.count { Thread.detachNewThread { [self] in begin(order) } }
        case .end: endAll(order.name)
        case .report: report(order, left: order.count)
        }
    }

    private func begin(_ order: BackgroundTaskOrder) {
        let task = Application.shared.beginBackgroundTask(
            withName: order.name, expirationHandler: order.handler == .none ? nil : handler(order))
        if task != .invalid { open.withLock { $0[order.name, default: []].append(task) } }
        note(task == .invalid ? .taskRefused : .taskBegun, order.name, task) { sighting in
            if task == .invalid { sighting.text = Application.shared.backgroundTaskRefusal }
        }
    }

    private func handler(_ order: BackgroundTaskOrder) -> @MainActor @Sendable () -> Void {
        { [self] in
            note(.taskExpired, order.name)
            switch order.handler {
            case .none, .keep: break
            case .end: endAll(order.name)
            case .hold: while true { pause() }
            }
        }
    }

    private func endAll(_ name: String) {
        let tasks = open.withLock { $0.removeValue(forKey: name) } ?? []
        for task in tasks {
            Application.shared.endBackgroundTask(task)
            note(.taskEnded, name, task)
        }
    }

    private func report(_ order: BackgroundTaskOrder, left: Int) {
        note(.remaining, order.name)
        guard left > 1 else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + order.interval) { [self] in report(order, left: left - 1) }
    }

    private func note(
        _ event: Sighting.Event, _ name: String, _ task: BackgroundTaskIdentifier? = nil,
        _ fill: (inout Sighting) -> Void = { _ in }
    ) {
        journal.note(event) { sighting in
            sighting.description = name
            sighting.task = task?.rawValue
            sighting.remaining = Application.shared.backgroundTimeRemaining
            fill(&sighting)
        }
    }
}
