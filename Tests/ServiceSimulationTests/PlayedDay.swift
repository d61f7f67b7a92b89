import Foundation
import NightshiftAPI
import Scheduler
import Sessions
import SimulationSupport
import Store
import TestSupport
import Transfers

/// A trace that the service runs: a world under a manual clock, driven by the state machine that the conductor uses.
/// App processes are not simulated, except for their effects on transfers: apps add transfers in the background, and
/// apps come to the foreground.
final class PlayedDay {
    private let world: World
    private let start: ClockReading
    private var machine: DeviceStateMachine
    /// The journal entries of decisions about the device.
    private(set) var deviceEntries: [JournalEntry] = []
    /// The accepted tasks in order.
    private(set) var tasks: [TaskID] = []
    private var failing: [String: TracedHost.Failing] = [:]
    private var urls: [String: [String]] = [:]
    private var inBackground: Set<AppID> = []

    init(_ world: World) {
        self.world = world
        start = world.now
        machine = DeviceStateMachine(doze: DozeMachine.State(since: world.now.wallSeconds))
    }

    /// Returns the time of an entry in seconds since the start of the trace.
    func seconds(_ entry: JournalEntry) -> Double { entry.time.timeIntervalSince(start.date) }

    func play(_ trace: Trace) async {
        let first = trace.lines.prefix { $0.at == 0 && ($0.settings != nil || $0.device != nil) }
        await begin(first)
        for line in trace.lines.dropFirst(first.count) {
            await advance(to: line.at)
            await play(line)
        }
    }

    /// Applies the first lines, which describe the initial state of the device.
    private func begin(_ lines: some Sequence<TraceLine>) async {
        var found = DeviceConditions()
        var speed: Double?
        for line in lines {
            for (key, text) in line.device ?? [:] { _ = found.set(key, to: text) }
            speed = line.bytesPerSecond ?? speed
        }
        world.transport.setBandwidth(1 << 40)
        await execute(machine.begin(found, now: world.now))
        await world.service.apply(machine.moment)
        await world.start()
        if let speed { await setSpeed(speed) }
    }

    /// Sets the bandwidth that all running transfers share, as in a trace.
    private func setSpeed(_ bytesPerSecond: Double) async {
        let settings = ServiceSettings(rateLimit: Int64(saturating: bytesPerSecond))
        await world.call { [service = world.service] in _ = try? await service.change(settings) }
    }

    private func play(_ line: TraceLine) async {
        if let speed = line.bytesPerSecond { await setSpeed(speed) }
        if let values = line.device {
            var said = machine.conditions
            for (key, text) in values { _ = said.set(key, to: text) }
            await execute(machine.changed(to: said, now: world.now))
        }
        if let phase = line.request, case .success(let actions) = machine.request(phase, now: world.now) {
            await execute(actions)
        }
        if let host = line.host {
            failing[host.name] = host.failing
            for url in urls[host.name] ?? [] { setScript(url, host.failing) }
        }
        if let app = line.app, let use = line.use { await play(use, app) }
        if let transfer = line.transfer { await add(transfer, line.app) }
    }

    private func play(_ use: AppUse, _ app: AppID) async {
        switch use {
        case .front:
            inBackground.remove(app)
            // The app's row is updated first, which clears its holds.
            await world.call { [store = world.store, service = world.service, now = world.now] in
                try? await store.write { try $0.liftHolds(of: app, at: now.date) }
                await service.cameToFront(app)
            }
        case .background: inBackground.insert(app)
        case .quit, .forceQuit: inBackground.remove(app)
        }
    }

    // MARK: - Transfers

    private func add(_ transfer: TracedTransfer, _ app: AppID?) async {
        let requests = (0..<transfer.count).map { _ in request(transfer) }
        guard let app else {
            tasks += await world.enqueue(requests)
            return
        }
        let numbered = requests.enumerated().map {
            SessionTaskRequest(taskIdentifier: Int64(tasks.count + $0 + 1), request: $1)
        }
        let isInBackground = inBackground.contains(app)
        let ids = await world.call { [service = world.service] () -> [TaskID] in
            _ = try? await service.attach(app, transfer.session, SessionSettings())
            return
                (try? await service.enqueue(
                    app, transfer.session, SessionEnqueueRequest(tasks: numbered),
                    on: { _, _ in .success(AppTaskTerms(isInBackground: isInBackground)) })) ?? []
        }
        tasks += ids ?? []
    }

    private func request(_ transfer: TracedTransfer) -> TaskRequest {
        let known = urls[transfer.host] ?? []
        let url = "http://\(transfer.host)/\(known.count)"
        urls[transfer.host] = known + [url]
        let version = ScriptedVersion(seed: UInt64(known.count % 5), size: transfer.bytes, entityTag: "\"a\"")
        world.transport.serve(url, ScriptedResource([version]))
        setScript(url, failing[transfer.host])
        return world.request(url, priority: transfer.priority) { request in
            request.resourceTimeout = transfer.resourceTimeout
            request.isDiscretionary = transfer.rules.discretion != .none
            request.allowsCellularAccess = transfer.rules.allowsCellularAccess
            request.allowsExpensiveNetworkAccess = transfer.rules.allowsExpensiveNetworkAccess
            request.allowsConstrainedNetworkAccess = transfer.rules.allowsConstrainedNetworkAccess
            request.requiresExternalPower = transfer.rules.requiresExternalPower
            request.minimumBattery = Double(transfer.rules.minimumBattery)
        }
    }

    private func setScript(_ url: String, _ failing: TracedHost.Failing?) {
        let behaviour: ScriptedBehaviour? =
            switch failing {
            case .unreachable?: .cannotConnect
            case .busy(let seconds)?: .status(503, retryAfter: seconds.map { "\(Int(saturating: $0))" })
            case .missing?: .status(404)
            // A single lost connection does not change the later behaviour of the resource.
            case .lost?, nil: nil
            }
        world.transport.change(url) { $0.script = behaviour.map { Array(repeating: $0, count: 1_000) } ?? [] }
    }

    // MARK: - Time

    /// Advances the time. The state machine decides at each deadline of doze, and whenever the transfers report a
    /// change of activity.
    private func advance(to time: Double) async {
        let end = start.bootSeconds + time
        while true {
            await hear()
            let seen = world.activity.all.count
            let target = min(end, machine.nextDeadline ?? .infinity)
            if target > world.now.bootSeconds {
                let remaining = target - world.now.bootSeconds
                if await world.advance(atMost: remaining, until: { world.activity.all.count > seen }) { continue }
                await world.advance(by: max(0, target - world.now.bootSeconds))
                if world.activity.all.count > seen { continue }
            }
            if let deadline = machine.nextDeadline, deadline <= world.now.bootSeconds {
                await execute(machine.tick(now: world.now))
            } else if world.now.bootSeconds >= end {
                return
            }
        }
    }

    private func hear() async {
        var activity = DeviceStateMachine.Activity()
        activity.transfersWork = world.activity.all.last.map { $0.discretionary > 0 } ?? false
        await execute(machine.changed(activity, now: world.now))
    }

    private func execute(_ actions: [DeviceStateMachine.Action]) async {
        for action in actions {
            switch action {
            case .record(let entries): deviceEntries += entries
            case .announce:
                let moment = machine.moment
                await world.change { $0 = moment }
            case .holdAwake: break
            case .readConditions(let time):
                await execute(machine.refreshed(machine.conditions, askedAt: time, now: world.now))
            }
        }
    }
}
