import Dispatch
import Executors
import Foundation
import NightshiftAPI
import Synchronization

/// The handler of all wakes of the app except session events: background fetches, scheduled tasks, location events,
/// remote notifications and responses to notifications. Each wake is handled once.
///
/// Wakes other than location events are handled on the main queue, after `didFinishLaunching`, because an `Application`
/// is launched before the main thread serves its queue.
final class WakeHandler: Sendable {
    typealias Acknowledgement = @Sendable (RefreshResult?) -> Void

    private let state = Mutex(State())

    private struct State {
        weak var connection: ServiceConnection?
        var handlers = LaunchHandlers()
        var isLaunched = false
        var open: [WakeID: Wake] = [:]
        /// The wakes that ended last, with their results. The service sends a wake again if it did not receive its
        /// result.
        var ended: [(id: WakeID, result: RefreshResult)] = []
    }

    /// The identity of a wake. It is the same each time the wake's command arrives.
    private struct WakeID: Hashable {
        var source: WakeSource
        var key: String
        var number: Int64

        init(_ command: ProcessCommand) {
            source = command.source ?? .session
            key = command.key ?? ""
            number = command.through ?? -command.number
        }

        /// Whether the wake is for a scheduled task, for which the app gets a ``BGTask``.
        var isTask: Bool {
            switch source {
            case .processing, .continued: true
            case .fetch: !key.isEmpty
            default: false
            }
        }
    }

    private struct Wake {
        var command: ProcessCommand
        var acknowledgements: [Acknowledgement]
        var task: BGTask?
        /// Whether the wake waits because its handler is not registered yet.
        var isHeld = false
        /// Whether the wake's time is nearly over. If it is, the wake no longer gets a task object.
        var hasExpired = false
    }

    /// The number of results that are kept because the service may not have received them.
    private static let mostEnded = 64

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    // MARK: - Wakes

    /// Begins a wake, unless the wake has already begun or ended.
    ///
    /// - Parameters:
    ///   - receiver: A closure that returns the app, once the app runs as an ``Application``.
    ///   - acknowledge: A closure that is called once with the wake's result.
    func begin(
        _ command: ProcessCommand, for receiver: @escaping @Sendable () -> (any CommandReceiver)?,
        acknowledge: @escaping Acknowledgement
    ) {
        // Session events have their own commands.
        guard let source = command.source, source != .session else { return acknowledge(nil) }
        let id = WakeID(command)
        let (isNew, result) = state.withLock { state -> (Bool, RefreshResult?) in
            if let result = state.ended.last(where: { $0.id == id })?.result { return (false, result) }
            if state.open[id] != nil {
                state.open[id]?.acknowledgements.append(acknowledge)
                return (false, nil)
            }
            state.open[id] = Wake(command: command, acknowledgements: [acknowledge])
            return (true, nil)
        }
        if let result { return acknowledge(result) }
        guard isNew else { return }
        if id.source == .region || id.source == .significantChange { return tellLocation(id, command) }
        DispatchQueue.main.async { [self] in
            switch id.source {
            case .push, .response: deliver(command, id, receiver)
            case .fetch where id.key.isEmpty:
                guard let receiver = receiver() else { return end(id, .noData) }
                receiver.performFetch { [self] result in end(id, result) }
            default: launch(id)
            }
        }
    }

    /// Passes a remote notification, or the user's response to a notification, to the app.
    private func deliver(
        _ command: ProcessCommand, _ id: WakeID, _ receiver: @escaping @Sendable () -> (any CommandReceiver)?
    ) {
        let completion: @Sendable (RefreshResult) -> Void = { [self] result in end(id, result) }
        if id.source == .push {
            guard let receiver = receiver(), let delivery = command.decodedPayload(PushDelivery.self) else {
                return completion(.noData)
            }
            receiver.receive(delivery, completion: completion)
        } else {
            guard let presenter = state.withLock(\.connection)?.presenter,
                let response = command.decodedPayload(NotificationResponse.self)
            else { return completion(.noData) }
            presenter.receive(response, for: receiver, completion: completion)
        }
    }

    /// Notifies the delegates of the app's location managers of an event.
    private func tellLocation(_ id: WakeID, _ command: ProcessCommand) {
        guard let connection = state.withLock(\.connection), let event = command.decodedPayload(LocationEvent.self)
        else { return end(id, .failed) }
        let notes = connection.app.flatMap { HeardEvents(connection.paths, of: $0) }
        // An earlier process may have ended after its delegates returned and before the acknowledgement.
        if notes?.contains(event, wake: id.number) == true { return end(id, .newData) }
        connection.location.deliver(event, within: command.limit) { [self] isHeard in
            if isHeard { notes?.note(event, wake: id.number) }
            end(id, .newData)
        }
    }

    private func launch(_ id: WakeID) {
        let (wake, entry, connection, isLaunched) = state.withLock { state in
            let entry = state.handlers.entry(for: id.key)
            state.open[id]?.isHeld = entry == nil
            return (state.open[id], entry, state.connection, state.isLaunched)
        }
        guard let wake, let connection else { return }
        guard let entry else {
            // A program without an `Application` never reports that it has registered all handlers.
            if isLaunched { endWithoutHandler(id) }
            return
        }
        let task = task(id, wake.command, connection)
        let isFirst = state.withLock { state in
            guard let open = state.open[id], open.task == nil, !open.hasExpired else { return false }
            state.open[id]?.task = task
            return true
        }
        guard isFirst else { return }
        (entry.queue ?? .global()).async { [self] in
            // The check is needed because the task may have expired before the queue ran this block.
            if state.withLock({ $0.open[id] != nil }) { entry.handler(task) }
        }
    }

    private func task(_ id: WakeID, _ command: ProcessCommand, _ connection: ServiceConnection) -> BGTask {
        let onCompletion: @Sendable (Bool) -> Void = { [weak self] success in
            self?.end(id, success ? .newData : .failed)
        }
        switch id.source {
        case .processing: return BGProcessingTask(identifier: id.key, onCompletion: onCompletion)
        case .continued:
            let request = command.decodedPayload(ScheduledTask.self)
            return BGContinuedProcessingTask(
                request ?? ScheduledTask(identifier: id.key, kind: .continued), on: connection,
                onCompletion: onCompletion)
        case .fetch, .session, .push, .region, .significantChange, .response:
            return BGAppRefreshTask(identifier: id.key, onCompletion: onCompletion)
        }
    }

    private func endWithoutHandler(_ id: WakeID) {
        Notice.print(SchedulerRefusal.noHandler(id.key))
        end(id, .failed)
    }

    /// Ends a wake with its result. Only the first call has an effect.
    private func end(_ id: WakeID, _ result: RefreshResult) {
        let wake = state.withLock { state -> Wake? in
            guard let wake = state.open.removeValue(forKey: id) else { return nil }
            state.ended = (state.ended + [(id, result)]).suffix(Self.mostEnded)
            return wake
        }
        for acknowledge in wake?.acknowledgements ?? [] { acknowledge(result) }
    }

    /// Expires a wake shortly before its time ends: calls the task's expiration handler, then `done`.
    func expire(_ command: ProcessCommand, isApplication: Bool, done: @escaping @Sendable () -> Void) {
        let ids = state.withLock { state in
            state.open.keys.filter { id in
                id.source == command.source && id.key == command.key ?? ""
                    && (command.through == nil || id.number == command.through)
            }
        }
        // This work does not run on a queue of the app, because the app's launch handler may still be running on that
        // queue.
        WorkQueue.start { [self] in
            for id in ids { expire(id, isApplication: isApplication) }
            done()
        }
    }

    private func expire(_ id: WakeID, isApplication: Bool) {
        let wake = state.withLock { state in
            state.open[id]?.hasExpired = true
            return state.open[id]
        }
        if let task = wake?.task {
            task.expire()
        } else if wake?.isHeld == true {
            endWithoutHandler(id)
        } else if id.isTask || !isApplication {
            // The main queue has not run the wake yet, or no thread serves the main queue.
            end(id, .failed)
        }
    }

    /// Notifies the running tasks that the service can be reached, for the first time or again.
    func onReconnect() {
        for task in state.withLock({ $0.open.values.compactMap(\.task) }) { task.onReconnect() }
    }

    // MARK: - Handlers

    /// Handles the end of the app's launch. All handlers except those of continued tasks are registered by then.
    func launchEnded() {
        let held = state.withLock { state in
            state.isLaunched = true
            return state.open.filter(\.value.isHeld).keys
        }
        for id in held { endWithoutHandler(id) }
    }

    /// Registers a handler for the tasks with an identifier.
    ///
    /// - Returns: False if the identifier already has a handler.
    func register(_ identifier: String, on queue: DispatchQueue?, _ handler: @escaping (BGTask) -> Void) -> Bool {
        // The handler is stored here. Only the app's own queue calls it.
        nonisolated(unsafe) let handler = handler
        let (isNew, held) = state.withLock { state in
            let entry = LaunchHandlers.Entry(queue: queue, handler: handler, isLate: state.isLaunched)
            let isNew = state.handlers.add(entry, for: identifier)
            return (isNew, state.open.filter { $0.value.isHeld && state.handlers.entry(for: $0.key.key) != nil }.keys)
        }
        for id in held { launch(id) }
        return isNew
    }

    func isRegistered(_ identifier: String) -> Bool { state.withLock { $0.handlers.contains(identifier) } }

    /// Records that the app's desktop entry does not declare an identifier. Prints the advice if this is the
    /// identifier's first refusal.
    func refuse(_ identifier: String, _ advice: String) {
        if state.withLock({ $0.handlers.refuse(identifier) }) { Notice.print(advice) }
    }

    /// Returns the reason why a request must not be submitted, or nil if it may be.
    func refusal(of task: ScheduledTask) -> String? {
        state.withLock { state in
            guard let entry = state.handlers.entry(for: task.identifier) else {
                return state.handlers.isRefused(task.identifier) ? nil : SchedulerRefusal.noHandler(task.identifier)
            }
            return entry.isLate && task.kind != .continued ? SchedulerRefusal.late : nil
        }
    }
}

extension ProcessCommand {
    /// Returns the decoded payload of the wake, or nil if it cannot be decoded.
    fileprivate func decodedPayload<Value: Decodable>(_ type: Value.Type) -> Value? {
        payload.flatMap { try? JSON.decodeKnown(type, from: $0) }
    }
}

/// The messages of the exceptions that Apple's scheduler raises.
enum SchedulerRefusal {
    static let late = "All launch handlers must be registered before application finishes launching"

    static func registeredTwice(_ identifier: String) -> String {
        "Launch handler for task with identifier \(identifier) has already been registered"
    }

    static func noHandler(_ identifier: String) -> String {
        "No launch handler registered for task with identifier \(identifier)"
    }
}
