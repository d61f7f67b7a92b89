package import Store

/// Whose turn it is where there is but one connection: tasks that failed and others alternate. Pure.
package struct AdmissionTurns: Sendable {
    /// Lanes of one connection that were last used by a task that had not failed.
    private var lanes: Set<LaneID> = []
    /// The same of the service, where it has but one place.
    package private(set) var isOfFailed = false

    package init() {}

    /// Whether a lane's next turn is that of a task that failed.
    package func isOfFailed(_ lane: LaneID) -> Bool { lanes.contains(lane) }

    /// A task begins.
    package mutating func note(_ record: TaskRecord) {
        isOfFailed = record.fruitless == 0
        if record.fruitless == 0, record.maximumConnections == 1 {
            lanes.insert(record.lane)
        } else {
            lanes.remove(record.lane)
        }
    }

    /// Forgets lanes that have nothing waiting.
    package mutating func keep(_ ready: [LaneID]) {
        if !lanes.isEmpty { lanes.formIntersection(ready) }
    }
}
