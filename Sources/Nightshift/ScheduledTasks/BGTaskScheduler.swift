public import Dispatch
public import Foundation
import NightshiftAPI
import NightshiftClient

/// The name that apps have for a queue that may be missing; Dispatch on Linux has it not.
// swift-format-ignore: TypeNamesShouldBeCapitalized
public typealias dispatch_queue_t = DispatchQueue

/// Asks for work in the background: new content before its user looks, long work while nobody uses the device, and work that
/// goes on when its user has left the app.
///
/// The identifiers of an app's tasks are declared in its desktop entry, `X-Nightshift-TaskIdentifiers`, and the modes `fetch` and
/// `processing` in `X-Nightshift-BackgroundModes`. For any thread. What asks the service waits 2 s for one that does not answer.
public final class BGTaskScheduler: NSObject, Sendable {
    public static let shared = BGTaskScheduler(connection: .shared)

    private let connection: ServiceConnection

    package init(connection: ServiceConnection) {
        self.connection = connection
    }

    /// What continued tasks may ask for beside the processor: nothing.
    public class var supportedResources: BGContinuedProcessingTaskRequest.Resources { [] }

    // MARK: - Handlers

    /// Registers what is called when the app is launched for a task, before `didFinishLaunching` returns; for a continued task at any
    /// time before it is submitted. To register an identifier twice ends the process, as on Apple's systems.
    ///
    /// - Parameters:
    ///   - identifier: one that the app's entry declares; one that ends in `.*` stands for all that begin alike.
    ///   - queue: where the handler is called; nil is a queue in the background.
    ///   - launchHandler: gets a ``BGAppRefreshTask``, ``BGProcessingTask`` or ``BGContinuedProcessingTask``, as the request was.
    /// - Returns: false where the entry does not declare the identifier, which a line on standard error explains.
    @discardableResult
    public func register(
        forTaskWithIdentifier identifier: String, using queue: dispatch_queue_t?,
        launchHandler: @escaping (BGTask) -> Void
    ) -> Bool {
        let wakes = connection.wakes
        if wakes.isRegistered(identifier) { fatalError(SchedulerRefusal.registeredTwice(identifier)) }
        // Without a service nobody knows, and the handler does no harm.
        if case .known(let manifest) = connection.refresh.entry(),
            !ScheduledTask.isDeclared(identifier, in: manifest?.taskIdentifiers ?? [])
        {
            let entry = manifest.map { "'\($0.entry)'" } ?? "a desktop entry of the app, which is not installed,"
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

    /// Asks for a task. A request that waits under the same identifier is replaced.
    ///
    /// Returns when the service has it on disk. Without a handler for its identifier it ends the process, as on Apple's systems.
    ///
    /// - Throws: ``Error``.
    public func submit(_ taskRequest: BGTaskRequest) throws {
        let task = taskRequest.scheduledTask
        if let refusal = connection.wakes.refusal(of: task) { fatalError(refusal) }
        if let continued = taskRequest as? BGContinuedProcessingTaskRequest,
            !continued.requiredResources.isSubset(of: Self.supportedResources)
        {
            throw Error(.notPermitted, "The task asks for a graphics processor, which nobody keeps free.")
        }
        try submit(task)
    }

    /// As ``submit(_:)``, without waiting.
    ///
    /// - Parameter completionHandler: called on any thread, with an ``Error`` or nil.
    public func submitTaskRequest(
        _ taskRequest: BGTaskRequest, completionHandler: @escaping ((any Swift.Error)?) -> Void
    ) {
        let task = taskRequest.scheduledTask
        if let refusal = connection.wakes.refusal(of: task) { fatalError(refusal) }
        // Called once, by one thread.
        nonisolated(unsafe) let completionHandler = completionHandler
        // The request is the caller's, who may change it meanwhile.
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

    /// As ``submit(_:)``, without blocking a thread of the caller's.
    public func submitTaskRequest(_ taskRequest: BGTaskRequest) async throws {
        let error = await withCheckedContinuation { (continuation: CheckedContinuation<(any Swift.Error)?, Never>) in
            submitTaskRequest(taskRequest) { continuation.resume(returning: $0) }
        }
        if let error { throw error }
    }

    private func submit(_ task: ScheduledTask) throws {
        connection.wake()
        let deadline = ContinuousClock.now + RefreshHandler.patience
        do {
            try connection.cancellations.send(within: RefreshHandler.patience)
            try connection.notify(.submit(task), hasty: true, patience: max(.zero, deadline - .now))
        } catch let problem as Problem {
            throw Error(problem)
        } catch let failure as ServiceUnreachable {
            throw Error(.unavailable, failure.message)
        } catch {
            throw Error(.unavailable, "The app is ending.")
        }
    }

    /// Takes a request back that waits; a task that runs goes on. Without a service it is taken back when there is one again, before
    /// anything else is asked of it.
    public func cancel(taskRequestWithIdentifier identifier: String) {
        connection.cancellations.add(identifier)
    }

    /// Takes every request back that waits.
    public func cancelAllTaskRequests() {
        connection.cancellations.add(nil)
    }

    /// The requests that wait, without those that run; copies.
    ///
    /// - Parameter completionHandler: called on any thread; without a service, with none.
    public func getPendingTaskRequests(completionHandler: @escaping ([BGTaskRequest]) -> Void) {
        // Called once, by one thread.
        nonisolated(unsafe) let completionHandler = completionHandler
        DispatchQueue.global().async { [self] in completionHandler(pendingTasks().map { BGTaskRequest.request($0) }) }
    }

    /// The requests that wait, without those that run; none without a service.
    public func pendingTaskRequests() async -> [BGTaskRequest] {
        let tasks = await withCheckedContinuation { (continuation: CheckedContinuation<[ScheduledTask], Never>) in
            DispatchQueue.global().async { [self] in continuation.resume(returning: pendingTasks()) }
        }
        return tasks.map { BGTaskRequest.request($0) }
    }

    private func pendingTasks() -> [ScheduledTask] {
        let known = connection.patiently {
            try connection.cancellations.send(within: RefreshHandler.patience)
            return try connection.request(.scheduledTasks, hasty: true, patience: RefreshHandler.patience)
        }
        return known?.tasks ?? []
    }
}
