public import Foundation
import NightshiftAPI

/// A request to launch the app once for a task. This is the base class of all task requests.
public class BGTaskRequest: NSObject, NSCopying {
    /// The task's identifier, which the app's desktop entry must declare (`X-Nightshift-TaskIdentifiers`).
    public let identifier: String
    /// The time before which the task does not begin. Nil if it may begin as soon as possible.
    public var earliestBeginDate: Date?

    init(forIdentifier identifier: String) {
        self.identifier = identifier
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        fatalError("Use a subclass of BGTaskRequest for a task request.")
    }

    /// The request in the form that is sent to the service.
    var scheduledTask: ScheduledTask {
        fatalError("Use a subclass of BGTaskRequest for a task request.")
    }

    /// Returns the request that the service has stored.
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

/// A request for thirty seconds in the background to fetch new content. The app's desktop entry must declare the mode
/// `fetch`. One such request can be pending at a time.
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

/// A request for several minutes of work while nobody uses the device. The app's desktop entry must declare the mode
/// `processing`. Ten such requests can be pending at a time.
public final class BGProcessingTaskRequest: BGTaskRequest {
    /// Whether the task waits for a network.
    public var requiresNetworkConnectivity = false
    /// Whether the task waits for external power.
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
