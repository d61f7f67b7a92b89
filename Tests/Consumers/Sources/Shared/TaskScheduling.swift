import Foundation
import Harness

#if canImport(BackgroundTasks)
    import BackgroundTasks
#else
    import Nightshift
#endif

// The task scheduler as apps use it. This program has no desktop entry, so the service answers that no identifier is
// declared.

/// The app of Apple's article, which refreshes a feed and cleans a database.
@MainActor private final class FeedScheduler {
    static let refreshIdentifier = Origin.identifier("com.example.feed.refresh")
    static let cleaningIdentifier = Origin.identifier("com.example.feed.db_cleaning")
    private(set) var isRegistered: [Bool] = []
    private(set) var failures: [NSError] = []

    func didFinishLaunching() {
        let isRefreshRegistered = BGTaskScheduler.shared.register(
            forTaskWithIdentifier: Self.refreshIdentifier, using: nil
        ) { task in
            // Downcast the parameter to an app refresh task as this identifier is used for a refresh request.
            guard let task = task as? BGAppRefreshTask else { return }
            Task { @MainActor in self.handleAppRefresh(task: task) }
        }
        let isCleaningRegistered = BGTaskScheduler.shared.register(
            forTaskWithIdentifier: Self.cleaningIdentifier, using: DispatchQueue.main
        ) { task in
            MainActor.assumeIsolated { self.handleDatabaseCleaning(task: task as! BGProcessingTask) }
        }
        isRegistered = [isRefreshRegistered, isCleaningRegistered]
    }

    func scheduleAppRefresh() {
        let request = BGAppRefreshTaskRequest(identifier: Self.refreshIdentifier)
        // Fetch no earlier than 15 minutes from now.
        request.earliestBeginDate = Date(timeIntervalSinceNow: 15 * 60)
        do {
            try BGTaskScheduler.shared.submit(request)
        } catch {
            failures.append(error as NSError)
        }
    }

    func scheduleDatabaseCleaningIfNeeded() {
        let request = BGProcessingTaskRequest(identifier: Self.cleaningIdentifier)
        request.requiresNetworkConnectivity = false
        request.requiresExternalPower = true
        do {
            try BGTaskScheduler.shared.submit(request)
        } catch {
            failures.append(error as NSError)
        }
    }

    /// Handles a refresh. It first schedules the next one.
    private func handleAppRefresh(task: BGAppRefreshTask) {
        scheduleAppRefresh()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let operations = [BlockOperation {}, BlockOperation {}]
        let lastOperation = operations[1]
        task.expirationHandler = {
            // After all operations are cancelled, the completion block below is called to set the task to complete.
            queue.cancelAllOperations()
        }
        lastOperation.completionBlock = {
            task.setTaskCompleted(success: true)
        }
        queue.addOperations(operations, waitUntilFinished: false)
    }

    private func handleDatabaseCleaning(task: BGProcessingTask) {
        let work = Task {
            for await _ in AsyncStream<Int>(unfolding: { nil }) where Task.isCancelled { break }
            task.setTaskCompleted(success: !Task.isCancelled)
        }
        task.expirationHandler = { work.cancel() }
    }
}

/// Work that continues when the user leaves the app. A button begins it, and it has progress.
@MainActor private final class Exporter {
    let identifier = Origin.identifier("com.example.feed.export.film")
    private var current: BGContinuedProcessingTask?

    func export() throws {
        BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: .main) { [weak self] task in
            guard let task = task as? BGContinuedProcessingTask else { return }
            var wasExpired = false
            task.expirationHandler = { wasExpired = true }
            let progress = task.progress
            progress.totalUnitCount = 100
            while !progress.isFinished && !wasExpired {
                progress.completedUnitCount += 1
                let formatted = String(format: "%.0f %%", progress.fractionCompleted * 100)
                task.updateTitle(task.title, subtitle: "Completed \(formatted)")
            }
            MainActor.assumeIsolated { self?.current = task }
            task.setTaskCompleted(success: progress.isFinished)
        }
        let request = BGContinuedProcessingTaskRequest(
            identifier: identifier, title: "Exporting a film", subtitle: "About to start…")
        request.strategy = .fail
        if BGTaskScheduler.supportedResources.contains(.gpu) { request.requiredResources = .gpu }
        try BGTaskScheduler.shared.submit(request)
    }
}

/// An identifier of which no other registration exists, so that the test can be repeated.
private let lateIdentifier = Origin.identifier("com.example.feed.late")

func taskScheduling() async {
    await situation("an app that registers a task at launch learns whether its desktop entry declares it") {
        let scheduler = await MainActor.run { FeedScheduler() }
        await scheduler.didFinishLaunching()
        try expectEqual(await scheduler.isRegistered, [false, false])
    }
    await situation("a refresh in a quarter of an hour is not permitted without a desktop entry") {
        let scheduler = await MainActor.run { FeedScheduler() }
        await scheduler.didFinishLaunching()
        await scheduler.scheduleAppRefresh()
        let failures = await scheduler.failures
        try expectEqual(failures.map(\.domain), ["BGTaskSchedulerErrorDomain"])
        try expectEqual(failures.map(\.code), [BGTaskScheduler.Error.Code.notPermitted.rawValue])
    }
    await situation("processing with external power is not permitted without a desktop entry") {
        let scheduler = await MainActor.run { FeedScheduler() }
        await scheduler.didFinishLaunching()
        await scheduler.scheduleDatabaseCleaningIfNeeded()
        try expectEqual(await scheduler.failures.map(\.code), [3])
    }
    await situation("a continued task with progress is not permitted without a desktop entry") {
        let exporter = await MainActor.run { Exporter() }
        do {
            try await exporter.export()
            throw Broken("it was taken")
        } catch BGTaskScheduler.Error.notPermitted {
        }
    }
    await situation("errors of the scheduler by their codes") {
        BGTaskScheduler.shared.register(forTaskWithIdentifier: lateIdentifier, using: nil) { task in
            task.setTaskCompleted(success: true)
        }
        do {
            try BGTaskScheduler.shared.submit(BGAppRefreshTaskRequest(identifier: lateIdentifier))
            throw Broken("it was taken")
        } catch let error as BGTaskScheduler.Error {
            switch error.code {
            case .notPermitted: break
            case .unavailable, .tooManyPendingTaskRequests, .immediateRunIneligible: throw Broken("\(error)")
            @unknown default: throw Broken("\(error)")
            }
            try expect(!error.localizedDescription.isEmpty, "it says nothing")
        }
    }
    await situation("a request that is submitted with await") {
        BGTaskScheduler.shared.register(forTaskWithIdentifier: lateIdentifier, using: nil) { _ in }
        do {
            try await BGTaskScheduler.shared.submitTaskRequest(BGAppRefreshTaskRequest(identifier: lateIdentifier))
            throw Broken("it was taken")
        } catch let error as BGTaskScheduler.Error where error.code == .notPermitted {
        }
    }
    await situation("a request that is submitted with a closure") {
        BGTaskScheduler.shared.register(forTaskWithIdentifier: lateIdentifier, using: nil) { _ in }
        let failure = Outcome<Int>("the answer")
        let request = BGProcessingTaskRequest(identifier: lateIdentifier)
        BGTaskScheduler.shared.submitTaskRequest(request) { error in
            failure.give((error as NSError?)?.code ?? 0)
        }
        try expectEqual(try await failure.value(), 3)
    }
    await situation("pending requests, with a closure and with await") {
        let count = Outcome<Int>("the requests")
        BGTaskScheduler.shared.getPendingTaskRequests { requests in
            count.give(requests.filter { $0.identifier == lateIdentifier }.count)
        }
        try expectEqual(try await count.value(), 0)
        let requests = await BGTaskScheduler.shared.pendingTaskRequests()
        try expect(!requests.contains { $0 is BGAppRefreshTaskRequest }, "one waits")
    }
    await situation("cancelling works for pending requests and for unknown ones") {
        BGTaskScheduler.shared.cancel(taskRequestWithIdentifier: lateIdentifier)
        BGTaskScheduler.shared.cancelAllTaskRequests()
    }
    await situation("a request is copied") {
        let request = BGProcessingTaskRequest(identifier: "com.example.copy")
        request.requiresNetworkConnectivity = true
        let copy = try unwrap(request.copy() as? BGProcessingTaskRequest, "copy")
        request.requiresNetworkConnectivity = false
        try expect(copy.requiresNetworkConnectivity && !copy.requiresExternalPower, "it was not copied")
        let queue: dispatch_queue_t? = nil
        try expect(queue == nil, "there is a queue")
    }
}
