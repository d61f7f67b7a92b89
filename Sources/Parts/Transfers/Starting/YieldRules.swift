package import NightshiftAPI
import Scheduler
package import Store

/// The rules that decide which transfers yield to other traffic on their route. This is a pure value.
package struct YieldRules: Hashable, Sendable {
    package var mode = YieldMode.auto
    /// The apps in the foreground.
    private(set) var inFront: Set<AppID> = []

    package init() {}

    /// Takes the news that an app came to the foreground or left it. Returns whether it changed anything.
    package mutating func use(_ app: AppID, isInFront: Bool) -> Bool {
        isInFront ? inFront.insert(app).inserted : inFront.remove(app) != nil
    }

    /// Returns whether a transfer yields now.
    package func yields(_ record: TaskRecord) -> Bool {
        if let wish = record.request.yields { return wish }
        // Connections inside the machine share no line with others.
        guard mode != .off, !record.needs.isLoopback else { return false }
        if record.rules.discretion != .none || record.priority < Self.ordinaryPriority { return true }
        guard let app = record.app, !app.isProgram else { return mode == .on }
        return !inFront.contains(app)
    }

    /// The priority of a transfer that asked for none. Transfers of lower priority yield.
    private static let ordinaryPriority = 0.5
}
