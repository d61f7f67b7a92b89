import Apps
import NightshiftAPI
import Scheduler

/// Handling of the device: its conditions, doze, and the apps that keep it awake.
extension World {
    mutating func change(_ values: [DeviceKey: String]) {
        var new = conditions
        for key in DeviceKey.allCases {
            if let text = values[key] { _ = new.set(key, to: text) }
        }
        execute(machine.changed(to: new, now: now))
    }

    mutating func request(_ phase: DozePhase) {
        switch machine.request(phase, now: now) {
        case .success(let actions): execute(actions)
        // The request for a phase was refused. The journal shows the unchanged phase.
        case .failure: break
        }
    }

    /// The activity of apps and transfers, in the form in which the service's coordinator receives it.
    var activity: DeviceStateMachine.Activity {
        let apps = AppActivity(apps.map(\.machine))
        var activity = DeviceStateMachine.Activity()
        activity.holders = apps.holders
        activity.wakes = apps.wakes
        activity.working = apps.working
        activity.transfersWork = transfers.isWorking(moment.conditions, clock.bootSeconds)
        return activity
    }

    /// Executes the machine's actions, and counts wake-ups and windows.
    mutating func execute(_ actions: [DeviceStateMachine.Action]) {
        for action in actions {
            switch action {
            case .record(let entries):
                for entry in entries {
                    record(entry)
                    guard entry.decision == .windowOpened, let reason = machine.doze.state.windowReason else {
                        continue
                    }
                    ledger.windows[reason, default: 0] += 1
                }
            case .announce: hasToAnnounce = true
            // The simulated machine falls asleep only when the trace says so.
            case .holdAwake: break
            case .readConditions(let time):
                execute(machine.refreshed(machine.conditions, askedAt: time, now: now))
            }
        }
        ledger.setResting(isResting)
    }

    /// Whether the device is asleep, or dozes outside of a maintenance window.
    var isResting: Bool { conditions.isSleeping || moment.phase == .dozing }
}
