import Foundation
import Nightshift

/// Handles the background fetches and scheduled tasks of a probe according to its orders.
final class Refreshing: Sendable {
    private let orders: Orders
    private let journal: Journal

    init(_ orders: Orders, _ journal: Journal) {
        self.orders = orders
        self.journal = journal
    }

    // MARK: - The launch

    /// Follows the orders for the launch. The probe calls this in `didFinishLaunching`.
    @MainActor func launched(_ application: Application, _ conduct: Conduct) {
        for order in orders.scheduledTasks { register(order, conduct) }
        if let interval = orders.fetchInterval { application.setMinimumBackgroundFetchInterval(interval) }
        guard orders.fetchInterval != nil || !orders.scheduledTasks.isEmpty else { return }
        noteStatus(application)
        _ = NotificationCenter.default.addObserver(
            forName: Application.backgroundRefreshStatusDidChangeNotification, object: nil, queue: .main
        ) { [self] _ in MainActor.assumeIsolated { noteStatus(.shared) } }
    }

    @MainActor private func noteStatus(_ application: Application) {
        let status = application.backgroundRefreshStatus
        journal.note(.refreshStatus) { $0.text = "\(status)" }
    }

    // MARK: - Fetches

    func fetch(_ completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void) {
        let order = orders.fetch
        guard let result = order.result else { return }
        after(order.delay, order.gate) { [journal] in
            journal.note(.fetched) { $0.text = "\(result)" }
            completionHandler(result)
        }
    }

    // MARK: - Scheduled tasks

    func reach(_ point: Point) {
        for order in orders.scheduledTasks where order.point == point { submit(order) }
    }

    private func register(_ order: ScheduledTaskOrder, _ conduct: Conduct) {
        let isRegistered = BGTaskScheduler.shared.register(forTaskWithIdentifier: order.identifier, using: nil) {
            [self] task in
            journal.note(.running) { sighting in
                sighting.description = order.identifier
                sighting.text = "\(type(of: task))"
            }
            if order.isRepeated { submit(order) }
            _ = conduct.deeds(at: .running)
            run(task, order)
        }
        journal.note(isRegistered ? .registered : .notRegistered) { $0.description = order.identifier }
    }

    private func submit(_ order: ScheduledTaskOrder) {
        do {
            try BGTaskScheduler.shared.submit(request(order))
            journal.note(.submitted) { $0.description = order.identifier }
        } catch {
            journal.note(.refused) { sighting in
                sighting.description = order.identifier
                sighting.domain = (error as NSError).domain
                sighting.code = (error as NSError).code
                sighting.text = error.localizedDescription
            }
        }
    }

    private func request(_ order: ScheduledTaskOrder) -> BGTaskRequest {
        let request: BGTaskRequest
        switch order.kind {
        case .refresh: request = BGAppRefreshTaskRequest(identifier: order.identifier)
        case .processing:
            let processing = BGProcessingTaskRequest(identifier: order.identifier)
            processing.requiresExternalPower = order.requiresPower
            processing.requiresNetworkConnectivity = order.requiresNetwork
            request = processing
        case .continued:
            let continued = BGContinuedProcessingTaskRequest(
                identifier: order.identifier, title: order.title, subtitle: order.subtitle)
            continued.strategy = order.failsWithoutRoom ? .fail : .queue
            request = continued
        }
        request.earliestBeginDate = order.earliestBegin.map { Date(timeIntervalSinceNow: $0) }
        return request
    }

    private func run(_ task: BGTask, _ order: ScheduledTaskOrder) {
        if order.conduct != .ignore {
            task.expirationHandler = { [self] in
                journal.note(.expired) { $0.description = order.identifier }
                if order.conduct != .keep { complete(task, false) }
            }
        }
        guard order.conduct == .complete || order.conduct == .fail else { return }
        report(task as? BGContinuedProcessingTask, order)
        after(order.delay, order.gate) { [self] in complete(task, order.conduct == .complete) }
    }

    private func report(_ task: BGContinuedProcessingTask?, _ order: ScheduledTaskOrder) {
        guard let task, order.units > 0 else { return }
        task.progress.totalUnitCount = order.units
        for unit in 1...order.units {
            let delay = order.delay * Double(unit) / Double(order.units)
            DispatchQueue.global().asyncAfter(deadline: .now() + delay) {
                task.progress.completedUnitCount = max(unit, task.progress.completedUnitCount)
                task.updateTitle(order.title, subtitle: "\(unit) of \(order.units)")
            }
        }
    }

    private func complete(_ task: BGTask, _ success: Bool) {
        journal.note(.ended) { sighting in
            sighting.description = task.identifier
            sighting.text = success ? "success" : "failure"
        }
        task.setTaskCompleted(success: success)
    }
}

extension FetchOrder {
    /// The result for the completion handler. Nil if the probe never answers.
    var result: BackgroundFetchResult? {
        switch answer {
        case .newData: .newData
        case .noData: .noData
        case .failed: .failed
        case .never: nil
        }
    }
}
