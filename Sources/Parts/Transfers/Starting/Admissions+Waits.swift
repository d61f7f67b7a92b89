import Foundation
import NightshiftAPI
import Scheduler
import Store

/// The reasons why tasks wait, for display.
extension Admissions {
    /// Returns the wait of a task: the stored wait, or the wait that follows from the device state.
    ///
    /// - Parameters:
    ///   - pause: the pause of the task's route.
    ///   - running: the running transfers.
    func wait(
        of record: TaskRecord, _ bounds: ServiceBounds, pause: HostTable.Pause?,
        running: some Collection<ActiveTransfer>,
        _ now: ClockReading
    ) -> Wait {
        let since = Date(timeIntervalSince1970: max(record.createdAt, record.wait?.since ?? 0))
        var facts = WaitOrder.Facts(needs: record.needs)
        facts.storePausedUntil = pausedUntil
        facts.isAsked = record.question != nil
        facts.notBefore = record.wait == nil ? nil : record.notBefore
        facts.beginAt = record.beginAt
        facts.trialUntil = trials.trial?.until
        facts.isHostPaused = pause != nil
        switch WaitOrder.cause(facts, bounds.moment, now) {
        case .store(let until):
            return Wait(
                reason: .diskSpace, since: since, until: now.wallTime(ofBootSeconds: until),
                detail: "The database cannot be written.")
        case .question:
            let since = record.wait.map { Date(timeIntervalSince1970: $0.since) } ?? since
            return Wait(reason: .answer, since: since, until: nil, detail: record.wait?.detail)
        case .pause: return record.wait.map { record.visible($0, now) } ?? Wait(reason: .starting, since: since)
        case .beginDate(let date):
            return Wait(reason: .beginDate, since: since, until: Date(timeIntervalSince1970: date))
        case .moment(let reason):
            return Wait(
                reason: reason,
                since: max(since, Date(timeIntervalSince1970: heldClasses.since(record.needs) ?? 0)),
                detail: bounds.detail(of: reason, record))
        case .sleeping: return Wait(reason: .sleeping, since: since)
        case .trial(let until):
            let tried = (trials.trial?.tasks ?? []).sorted().map { "\($0)" }
            let who = tried.count == 1 ? "transfer \(tried[0]) is" : "transfers \(tried.joined(separator: ", ")) are"
            return Wait(
                reason: .serviceLimit, since: since, until: now.wallTime(ofBootSeconds: until),
                detail: "The service crashed; \(who) retried in isolation first.")
        case .host:
            return Wait(
                reason: .hostBackoff, since: max(since, Date(timeIntervalSince1970: pause?.since ?? 0)),
                until: pause?.until.map { now.wallTime(ofBootSeconds: $0) }, detail: pause?.failure.message,
                failure: pause?.failure)
        case .queue: return placeInQueue(of: record, bounds, running, since: since)
        }
    }

    /// Returns the wait of a task that cannot start because other transfers use all connection slots.
    private func placeInQueue(
        of record: TaskRecord, _ bounds: ServiceBounds, _ active: some Collection<ActiveTransfer>, since: Date
    ) -> Wait {
        var lane =
            look.lanes[record.lane]
            ?? Admission.Lane(
                maximumConnections: record.maximumConnections, running: [], small: [], large: [], allowance: 1)
        lane.running = active.filter { $0.record.lane == record.lane }.map { $0.running(yields) }
        lane.origin = record.origin
        var places = ConnectionSlots(maximum: bounds.limits.maximumTransfers)
        for transfer in active { places.add(origin: transfer.record.origin, isSlow: transfer.pace.isSlow) }
        let reason = Admission.reason(
            isLarge: record.isLarge, hasFailed: record.hasFailed, lane: lane, places: places,
            smallWaitsElsewhere: look.lanes.values.contains { $0.allowance > 0 && !$0.small.isEmpty },
            othersFirst: Admission.othersFirst(
                look.lanes.values, maximumTransfers: bounds.limits.maximumTransfers))
        let detail: String? =
            switch reason {
            case .connectionLimit: "\(lane.running.count) of \(record.maximumConnections) connections are in use."
            case .serviceLimit: HeldPlaces(active.map { ($0.record.origin, $0.pace.isSlow) }).sentence
            default: nil
            }
        return Wait(reason: reason, since: since, detail: detail)
    }
}
