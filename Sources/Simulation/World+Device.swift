import Apps
import NightshiftAPI
import Scheduler

/// The device: its conditions, doze, and who holds it awake.
extension World {
    mutating func change(_ values: [DeviceKey: String]) {
        var new = conditions
        for key in DeviceKey.allCases {
            if let text = values[key] { _ = new.set(key, to: text) }
        }
        let old = conditions
        let keys = new.differences(from: old)
        guard !keys.isEmpty else { return }
        conditions = new
        let words = keys.map { "\($0.rawValue): \(old[$0]) → \(new[$0])" }
        note(.deviceChanged, detail: words.joined(separator: ", "), inputs: deviceInputs(keys))
        if new.isSleeping != old.isSleeping { note(new.isSleeping ? .deviceSlept : .deviceWoke) }
        decided(doze.changed(to: new, now: now))
        let isAnother = new.network.name != old.network.name || new.network.kind != old.network.kind
        if new.network.isAvailable != old.network.isAvailable {
            note(new.network.isAvailable ? .networkReturned : .networkLost)
        } else if isAnother {
            note(.networkChanged, detail: new.network.name)
        }
    }

    mutating func request(_ phase: DozePhase) {
        switch doze.request(phase, now: now) {
        case .success(let changes): decided(changes)
        // What was asked for cannot be: the journal shows what was there instead.
        case .failure: break
        }
    }

    /// Lets doze hear of who is active.
    mutating func activityChanged() -> [DozeMachine.Change] {
        let activity = activity
        let holders = activity.holders
        if holders != heldFor {
            let isHeld = !holders.isEmpty
            let who = isHeld ? holders : heldFor
            note(
                isHeld ? .deviceHeldAwake : .deviceReleased,
                detail: who.map { "\($0.app): \($0.tasks.joined(separator: ", "))" }.joined(separator: "; "),
                inputs: ["apps": who.map(\.app.rawValue).joined(separator: " ")])
            heldFor = holders
        }
        return doze.changed(
            held: !holders.isEmpty, busy: activity.working > 0 || transfers.isBusy(moment), wakes: activity.wakes > 0,
            now: now)
    }

    /// Writes down what doze has decided, and whether the device has left its rest.
    mutating func decided(_ changes: [DozeMachine.Change]) {
        for change in changes {
            if case .windowOpened(let reason) = change { ledger.windows[reason, default: 0] += 1 }
            note(
                change.decision, detail: change.sentence,
                inputs: [
                    "power": conditions[.power], "idle": conditions[.idle], "held": heldFor.isEmpty ? "no" : "yes",
                ])
        }
        ledger.heard(isResting: isResting)
    }

    /// The device is asleep, or dozes outside of a window.
    var isResting: Bool { conditions.isSleeping || doze.phase == .dozing }

    func deviceInputs(_ keys: [DeviceKey]) -> [String: String] {
        Dictionary(uniqueKeysWithValues: keys.map { ($0.rawValue, conditions[$0]) })
    }
}
