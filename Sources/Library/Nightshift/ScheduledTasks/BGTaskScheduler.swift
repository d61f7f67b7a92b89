public import Dispatch
public import Foundation
import NightshiftAPI
import NightshiftClient

/// The name that apps use for the type of an optional queue. Dispatch on Linux does not declare this name.
// swift-format-ignore: TypeNamesShouldBeCapitalized
public typealias dispatch_queue_t = DispatchQueue

/// The scheduler of work in the background. It schedules content fetches before the user opens the app, long work while
/// nobody uses the device, and work that continues when the user has left the app.
///
/// The app's desktop entry declares the identifiers of its tasks in `X-Nightshift-TaskIdentifiers`, and the modes
/// `fetch` and `processing` in `X-Nightshift-BackgroundModes`. You can call the methods on any thread. Methods that
/// contact the service wait up to 2 s for its response.
public final class BGTaskScheduler: NSObject, Sendable {
    public static let shared = BGTaskScheduler(connection: .shared)

    private let connection: ServiceConnection

    package init(connection: ServiceConnection) {
        self.connection = connection
    }

    /// The resources that continued tasks can request in addition to the processor. The set is empty.
    public class var supportedResources: BGContinuedProcessingTaskRequest.Resources { [] }

    // MARK: - Handlers

    /// Registers the handler that is called when the app is launched for a task. Call this method before
    /// `didFinishLaunching` returns. For a continued task, you can call it at any time before you submit the task.
    /// Registering an identifier twice ends the process, as on Apple's systems.
    ///
    /// - Parameters:
    ///   - identifier: An identifier that the app's desktop entry declares. If it ends in `.*`, it matches all
    ///     identifiers with this prefix.
    ///   - queue: The queue on which the handler is called. Nil means a background queue.
    ///   - launchHandler: A handler that gets a ``BGAppRefreshTask``, ``BGProcessingTask`` or
    ///     ``BGContinuedProcessingTask``, depending on the request.
    /// - Returns: False if the desktop entry does not declare the identifier. A line on standard error then explains
    ///   this.
    @discardableResult
    public func register(
        forTaskWithIdentifier identifier: String, using queue: dispatch_queue_t?,
        launchHandler: @escaping (BGTask) -> Void
    ) -> Bool {
        let wakes = connection.wakes
        if wakes.isRegistered(identifier) { fatalError(SchedulerRefusal.registeredTwice(identifier)) }
        // If the service cannot be reached, the desktop entry is unknown. Registering the handler is then harmless.
        if case .known(let manifest) = connection.refresh.entry(),
            !ScheduledTask.isDeclared(identifier, in: manifest?.taskIdentifiers ?? [])
        {
            let entry = manifest.map { "'\($0.entry)'" } ?? "the app is not installed, and its desktop entry"
            wakes.refuse(
                identifier,
                "The task \(identifier) is not permitted: \(entry) needs X-Nightshift-TaskIdentifiers=\(identifier);")
            return false
        }
        guard wakes.register(identifier, on: queue, launchHandler) else {
            fatalError(SchedulerRefusal.registeredTwice(identifier))
        }
        return true
    }

    // MARK: - Requests

    /// Submits a request for a task. It replaces a pending request with the same identifier.
    ///
    /// The method returns when the service has stored the request on disk. If no handler is registered for the
    /// identifier, the process ends, as on Apple's systems.
    ///
    /// - Throws: ``Error``.
    public func submit(_ taskRequest: BGTaskRequest) throws {
        let task = taskRequest.scheduledTask
        if let refusal = connection.wakes.refusal(of: task) { fatalError(refusal) }
        if let continued = taskRequest as? BGContinuedProcessingTaskRequest,
            !continued.requiredResources.isSubset(of: Self.supportedResources)
        {
            throw Error(.notPermitted, "A graphics processor cannot be reserved for a task.")
        }
        try submit(task)
    }

    /// Submits a request for a task and returns at once. Otherwise the method behaves as ``submit(_:)``.
    ///
    /// - Parameter completionHandler: A handler that is called on any thread, with an ``Error`` or nil.
    public func submitTaskRequest(
        _ taskRequest: BGTaskRequest, completionHandler: @escaping ((any Swift.Error)?) -> Void
    ) {
        let task = taskRequest.scheduledTask
        if let refusal = connection.wakes.refusal(of: task) { fatalError(refusal) }
        // The handler is called once, by one thread.
        nonisolated(unsafe) let completionHandler = completionHandler
        // The request is copied, because the caller may change it meanwhile.
        nonisolated(unsafe) let copy = taskRequest.copy()
        DispatchQueue.global().async { [self] in
            do {
                if let copy = copy as? BGTaskRequest { try submit(copy) }
                completionHandler(nil)
            } catch {
                completionHandler(error)
            }
        }
    }

    /// Submits a request for a task, without blocking the caller's thread. Otherwise the method behaves as
    /// ``submit(_:)``.
    public func submitTaskRequest(_ taskRequest: BGTaskRequest) async throws {
        let error = await withCheckedContinuation { (continuation: CheckedContinuation<(any Swift.Error)?, Never>) in
            submitTaskRequest(taskRequest) { continuation.resume(returning: $0) }
        }
        if let error { throw error }
    }

    private func submit(_ task: ScheduledTask) throws {
        connection.wake()
        let deadline = ContinuousClock.now + RefreshHandler.timeout
        do {
            try connection.cancellations.send(within: RefreshHandler.timeout)
            try connection.notify(.submit(task), hasty: true, timeout: max(.zero, deadline - .now))
        } catch let problem as Problem {
            throw Error(problem)
        } catch let failure as ServiceUnreachable {
            throw Error(.unavailable, failure.message)
        } catch {
            throw Error(.unavailable, "The app is terminating.")
        }
    }

    /// Cancels a pending request. If its task is running, the task continues. If the service cannot be reached, the
    /// request is cancelled when the service is back, before any other request about scheduled tasks is sent.
    public func cancel(taskRequestWithIdentifier identifier: String) {
        connection.cancellations.add(identifier)
    }

    /// Cancels all pending requests.
    public func cancelAllTaskRequests() {
        connection.cancellations.add(nil)
    }

    /// Calls the handler with copies of the pending requests. Requests of running tasks are not included.
    ///
    /// - Parameter completionHandler: A handler that is called on any thread. If the service cannot be reached, it gets
    ///   an empty array.
    public func getPendingTaskRequests(completionHandler: @escaping ([BGTaskRequest]) -> Void) {
        // The handler is called once, by one thread.
        nonisolated(unsafe) let completionHandler = completionHandler
        DispatchQueue.global().async { [self] in completionHandler(pendingTasks().map { BGTaskRequest.request($0) }) }
    }

    /// Returns the pending requests, or an empty array if the service cannot be reached. Requests of running tasks are
    /// not included.
    public func pendingTaskRequests() async -> [BGTaskRequest] {
        let tasks = await withCheckedContinuation { (continuation: CheckedContinuation<[ScheduledTask], Never>) in
            DispatchQueue.global().async { [self] in continuation.resume(returning: pendingTasks()) }
        }
        return tasks.map { BGTaskRequest.request($0) }
    }

    private func pendingTasks() -> [ScheduledTask] {
        let known = connection.patiently {
            try connection.cancellations.send(within: RefreshHandler.timeout)
            return try connection.request(.scheduledTasks, hasty: true, timeout: RefreshHandler.timeout)
        }
        return known?.tasks ?? []
    }
}
