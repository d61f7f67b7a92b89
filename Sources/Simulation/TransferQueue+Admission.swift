import NightshiftAPI
import Scheduler
import Store
import Transfers

/// Decisions about which transfers start and stop, made as in the service.
extension TransferQueue {
    /// Executes the actions for a change of the device state.
    mutating func follow(_ actions: [DeviceStateChange.Action], _ moment: DeviceState, _ now: ClockReading) {
        for action in actions {
            switch action {
            // The connections of a trace never die silently, and its networks require no log-in.
            case .checkConnections, .endPortalWaits: break
            case .stopForbidden: stopForbidden(moment, now)
            case .note(let entry, let endsPauses):
                entries.append(entry)
                guard endsPauses else { continue }
                hosts.networkReturned()
                for index in paused where transfers[index].record.wait?.reason == .retry {
                    endPause(index, now.bootSeconds)
                }
            case .admit: admit(moment, now)
            }
        }
    }

    private mutating func stopForbidden(_ moment: DeviceState, _ now: ClockReading) {
        for index in running {
            guard let interruption = Interruption(moment, needs(of: transfers[index])) else { continue }
            interrupt(index, interruption, now)
        }
    }

    /// Starts the transfers that may start, and stops transfers to make room.
    mutating func admit(_ moment: DeviceState, _ now: ClockReading) {
        // While the machine is falling asleep, transfers do not begin. Running transfers continue when the machine
        // wakes.
        guard !moment.conditions.isSleeping else { return }
        let time = now.bootSeconds
        // A transfer that starts or makes room may let others start.
        var isChanging = true
        while isChanging {
            let (indices, queued) = admissionLanes(moment, time)
            turns.keep(indices)
            let plan = Admission.plan(
                lanes: queued, maximumTransfers: maximumTransfers, now: time, isTurnOfFailed: turns.isTurnOfFailed)
            for id in plan.makeRoom { interrupt(Int(id.rawValue) - 1, .wait(.smallerFirst), now) }
            for id in plan.start { begin(Int(id.rawValue) - 1, moment, now) }
            failRefused(now)
            isChanging = !plan.start.isEmpty || !plan.makeRoom.isEmpty
            if !isChanging { explain(indices, queued, moment, now) }
            let hostEnds = indices.compactMap { hosts.blockedUntil(lanes[$0].way, time) }
            nextAdmission = ([plan.nextDeadline] + hostEnds).compactMap(\.self).min()
        }
    }

    /// Returns whether a discretionary transfer runs, or would run in a maintenance window.
    func isWorking(_ conditions: DeviceConditions, _ now: Double) -> Bool {
        if running.contains(where: { needs(of: transfers[$0]).worksInWindow }) { return true }
        guard !conditions.isSleeping else { return false }
        return lanes.contains { lane in
            lane.classes.contains { !$0.waiting.isEmpty && lane.needs($0.rules).wantsWindow(conditions) }
                && hosts.allowance(lane.way, now) > 0
        }
    }

    /// Returns the per-origin queues with waiting or running transfers, in the form that admission needs.
    private func admissionLanes(_ moment: DeviceState, _ now: Double) -> ([Int], [Admission.Lane]) {
        var byLane: [Int: [Int]] = [:]
        for index in running { byLane[transfers[index].lane, default: []].append(index) }
        var indices: [Int] = []
        var queued: [Admission.Lane] = []
        for (number, lane) in lanes.enumerated() {
            let mine = byLane[number] ?? []
            guard !mine.isEmpty || lane.classes.contains(where: { !$0.waiting.isEmpty }) else { continue }
            let allowed = lane.classes.filter { !$0.waiting.isEmpty && lane.needs($0.rules).hold(moment) == nil }
            indices.append(number)
            queued.append(
                Admission.Lane(
                    maximumConnections: lane.maximumConnections, running: mine.map { admissionRunning($0, now) },
                    small: heads(allowed.filter { !$0.isLarge }, lane.maximumConnections),
                    large: heads(allowed.filter(\.isLarge), lane.maximumConnections),
                    allowance: hosts.allowance(lane.way, now), isTurnOfFailed: turns.isTurnOfFailed(in: number),
                    origin: lane.host))
        }
        return (indices, queued)
    }

    /// Returns the first transfers of all requirement classes with one size.
    private func heads(_ classes: [Class], _ limit: Int) -> [Admission.Candidate] {
        // Both kinds are read separately, because one kind could otherwise fill the limit.
        [false, true].flatMap { hasFailed in
            let groups = classes.filter { $0.hasFailed == hasFailed }.map { group in
                group.waiting.prefix(limit).map { index in
                    let record = transfers[index].record
                    return Admission.Candidate(
                        id: record.id, priority: record.priority, isLarge: group.isLarge, fruitless: record.fruitless)
                }
            }
            return Admission.merged(groups, limit: limit)
        }
    }

    private func admissionRunning(_ index: Int, _ now: Double) -> Admission.Running {
        let record = transfers[index].record
        return Admission.Running(
            id: record.id, priority: record.priority, isLarge: record.isLarge,
            startedAt: transfers[index].startedAt ?? now, isResumable: true, hasFailed: record.fruitless > 1)
    }

    /// Records the reasons why transfers wait.
    private mutating func explain(
        _ indices: [Int], _ queued: [Admission.Lane], _ moment: DeviceState, _ now: ClockReading
    ) {
        let smallWaits = queued.contains { $0.allowance > 0 && !$0.small.isEmpty }
        let othersFirst = Admission.othersFirst(queued, maximumTransfers: maximumTransfers)
        var places = ConnectionSlots(maximum: maximumTransfers)
        for index in running { places.add(origin: lanes[transfers[index].lane].host) }
        for (number, admission) in zip(indices, queued) {
            let lane = lanes[number]
            for (place, group) in lane.classes.enumerated() where !group.waiting.isEmpty {
                var facts = WaitOrder.Facts(needs: lane.needs(group.rules))
                facts.isHostPaused = hosts.pause(lane.way, now.bootSeconds) != nil
                let reason: WaitReason =
                    switch WaitOrder.cause(facts, moment, now) {
                    case .moment(let reason): reason
                    case .host: .hostBackoff
                    case .sleeping: .sleeping
                    // The transfers of a trace never wait for these causes.
                    case .store, .question, .pause, .beginDate, .trial, .queue:
                        Admission.reason(
                            isLarge: group.isLarge, hasFailed: group.hasFailed, lane: admission,
                            places: places,
                            smallWaitsElsewhere: smallWaits, othersFirst: othersFirst)
                    }
                setReason(reason, lane: number, place: place, now.bootSeconds)
            }
        }
    }
}
