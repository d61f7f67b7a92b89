import NightshiftAPI
import Scheduler

/// Starting and stopping, as the service decides it.
extension TransferQueue {
    /// Stops what may not go on at this moment, and starts what may.
    mutating func look(_ moment: DeviceMoment, _ now: ClockReading) {
        // A machine on its way to sleep begins nothing; what ran goes on when it wakes.
        guard !moment.conditions.isSleeping else { return }
        let time = now.bootSeconds
        for index in running {
            let transfer = transfers[index]
            let isLoopback = lanes[transfer.lane].isLoopback
            guard let reason = Permission.hold(transfer.rules, moment, isLoopback: isLoopback) else { continue }
            interrupt(
                index, reason, inputs: Permission.inputs(transfer.rules, moment, isLoopback: isLoopback), now)
        }
        // What starts or makes room may let others start.
        var isChanging = true
        while isChanging {
            let (indices, queued) = admissionLanes(moment, time)
            let plan = Admission.plan(lanes: queued, maximumTransfers: maximumTransfers, now: time)
            for id in plan.makeRoom { interrupt(Int(id.rawValue) - 1, .smallerFirst, inputs: [:], now) }
            for id in plan.start {
                let index = Int(id.rawValue) - 1
                let inputs = Permission.inputs(
                    transfers[index].rules, moment, isLoopback: lanes[transfers[index].lane].isLoopback)
                start(index, inputs: inputs, now)
            }
            isChanging = !plan.start.isEmpty || !plan.makeRoom.isEmpty
            if !isChanging { explain(indices, queued, moment, now) }
            nextLook = plan.nextLook
        }
    }

    /// Whether something runs, or would run in a window, that can wait for one.
    func isBusy(_ moment: DeviceMoment) -> Bool {
        if running.contains(where: { transfers[$0].rules.discretion != .none }) { return true }
        return lanes.contains { lane in
            lane.classes.contains { group in
                guard !group.waiting.isEmpty, group.rules.discretion != .none else { return false }
                let hold = Permission.hold(group.rules, moment, isLoopback: lane.isLoopback)
                return hold == nil || hold == .doze
            }
        }
    }

    /// The lanes in which anything waits or runs, as admission wants them.
    private func admissionLanes(_ moment: DeviceMoment, _ now: Double) -> ([Int], [Admission.Lane]) {
        var byLane: [Int: [Int]] = [:]
        for index in running { byLane[transfers[index].lane, default: []].append(index) }
        var indices: [Int] = []
        var queued: [Admission.Lane] = []
        for (number, lane) in lanes.enumerated() {
            let mine = byLane[number] ?? []
            let groups = lane.classes.filter {
                !$0.waiting.isEmpty && Permission.hold($0.rules, moment, isLoopback: lane.isLoopback) == nil
            }
            guard !mine.isEmpty || lane.classes.contains(where: { !$0.waiting.isEmpty }) else { continue }
            func candidates(isLarge: Bool) -> [Admission.Candidate] {
                let classes = groups.filter { $0.isLarge == isLarge }.map { group in
                    group.waiting.prefix(lane.maximumConnections).map { index in
                        Admission.Candidate(
                            id: transfers[index].id, priority: transfers[index].priority, isLarge: isLarge)
                    }
                }
                return Admission.merged(classes, limit: lane.maximumConnections)
            }
            indices.append(number)
            queued.append(
                Admission.Lane(
                    maximumConnections: lane.maximumConnections, running: mine.map { admissionRunning($0, now) },
                    small: candidates(isLarge: false), large: candidates(isLarge: true), allowance: maximumTransfers))
        }
        return (indices, queued)
    }

    private func admissionRunning(_ index: Int, _ now: Double) -> Admission.Running {
        let transfer = transfers[index]
        var since = now
        if case .running(let start) = transfer.state { since = start }
        return Admission.Running(
            id: transfer.id, priority: transfer.priority, isLarge: transfer.isLarge, startedAt: since,
            isResumable: true)
    }

    /// Notes why those wait that do, and tells it once for all that are alike.
    private mutating func explain(
        _ indices: [Int], _ queued: [Admission.Lane], _ moment: DeviceMoment, _ now: ClockReading
    ) {
        for (number, admission) in zip(indices, queued) {
            let lane = lanes[number]
            let smallWaitsElsewhere = queued.contains { !$0.small.isEmpty && $0 != admission }
            for (place, group) in lane.classes.enumerated() where !group.waiting.isEmpty {
                let hold = Permission.hold(group.rules, moment, isLoopback: lane.isLoopback)
                let reason =
                    hold
                    ?? Admission.reason(
                        isLarge: group.isLarge, lane: admission, running: running.count,
                        maximumTransfers: maximumTransfers, smallWaitsElsewhere: smallWaitsElsewhere)
                let isNews = hold != nil && group.reason != hold
                setReason(reason, lane: number, place: place, now.bootSeconds)
                guard isNews else { continue }
                var inputs = Permission.inputs(group.rules, moment, isLoopback: lane.isLoopback)
                inputs["waiting"] = String(group.waiting.count)
                var entry = entry(.held, group.waiting[0], now)
                entry.wait = Wait(
                    reason: reason, since: now.date,
                    detail: Permission.detail(of: reason, group.rules, moment, isLoopback: lane.isLoopback))
                entry.inputs = inputs
                entries.append(entry)
            }
        }
    }
}
