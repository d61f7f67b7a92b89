public import Foundation
import NightshiftAPI

/// A request to be launched for a task once: what its subclasses have in common.
public class BGTaskRequest: NSObject, NSCopying {
    /// One that the app's entry declares (`X-Nightshift-TaskIdentifiers`).
    public let identifier: String
    /// The task does not begin before; nil for as soon as may be.
    public var earliestBeginDate: Date?

    init(forIdentifier identifier: String) {
        self.identifier = identifier
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        fatalError("A task request is one of BGTaskRequest's subclasses.")
    }

    /// How the service is asked for it.
    var scheduledTask: ScheduledTask {
        fatalError("A task request is one of BGTaskRequest's subclasses.")
    }

    /// The request that the service has.
    static func request(_ task: ScheduledTask) -> BGTaskRequest {
        switch task.kind {
        case .refresh:
            let request = BGAppRefreshTaskRequest(identifier: task.identifier)
            request.earliestBeginDate = task.earliestBegin
            return request
        case .processing:
            let request = BGProcessingTaskRequest(identifier: task.identifier)
            request.earliestBeginDate = task.earliestBegin
            request.requiresNetworkConnectivity = task.requiresNetwork ?? false
            request.requiresExternalPower = task.requiresPower ?? false
            return request
        case .continued:
            let request = BGContinuedProcessingTaskRequest(
                identifier: task.identifier, title: task.title ?? "", subtitle: task.subtitle ?? "")
            request.strategy = task.strategy == .fail ? .fail : .queue
            return request
        }
    }
}

/// A request for thirty seconds in the background to fetch new content. Needs the mode `fetch`; one waits at a time.
public final class BGAppRefreshTaskRequest: BGTaskRequest {
    public init(identifier: String) {
        super.init(forIdentifier: identifier)
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        let copy = BGAppRefreshTaskRequest(identifier: identifier)
        copy.earliestBeginDate = earliestBeginDate
        return copy
    }

    override var scheduledTask: ScheduledTask {
        var task = ScheduledTask(identifier: identifier, kind: .refresh)
        task.earliestBegin = earliestBeginDate
        return task
    }
}

/// A request for minutes of work while nobody uses the device. Needs the mode `processing`; ten wait at a time.
public final class BGProcessingTaskRequest: BGTaskRequest {
    /// Whether the task waits for a network.
    public var requiresNetworkConnectivity = false
    /// Whether it waits for external power.
    public var requiresExternalPower = false

    public init(identifier: String) {
        super.init(forIdentifier: identifier)
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        let copy = BGProcessingTaskRequest(identifier: identifier)
        copy.earliestBeginDate = earliestBeginDate
        copy.requiresNetworkConnectivity = requiresNetworkConnectivity
        copy.requiresExternalPower = requiresExternalPower
        return copy
    }

    override var scheduledTask: ScheduledTask {
        var task = ScheduledTask(identifier: identifier, kind: .processing)
        task.earliestBegin = earliestBeginDate
        task.requiresNetwork = requiresNetworkConnectivity
        task.requiresPower = requiresExternalPower
        return task
    }
}
