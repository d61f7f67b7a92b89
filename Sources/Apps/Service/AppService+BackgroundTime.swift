import Clock
import Foundation
import Logging
package import NightshiftAPI
import Store

/// Background tasks, and what the device says of the time for them.
extension AppService {
    /// The app of the calling process has work to finish: it is not suspended before that ends or its time is over.
    ///
    /// An answer means that the task is on disk, or that the disk has failed: then it is written with the app's next step. A full
    /// disk is no reason to refuse it: the app may be about to make room. The same number again is the same task.
    package func beginBackgroundTask(
        process pid: Int32, channel: String? = nil, _ request: BackgroundTaskRequest
    ) async throws(Problem) {
        let id = try app(ofProcess: pid, channel: channel)
        guard (1...Limits.backgroundTaskNameLength).contains(request.name.utf8.count) else {
            throw .invalid(
                "The name of a background task has 1 to \(Limits.backgroundTaskNameLength) bytes.", pointer: "/name")
        }
        guard request.number > 0 else {
            throw .invalid("The number of a background task is at least 1.", pointer: "/number")
        }
        guard machines[id] != nil else { throw .noBackgroundTime(BackgroundTaskRefusal.notRunning.sentence) }
        let guest = connections[pid]?.isGuest == true ? pid : nil
        var refusal: BackgroundTaskRefusal? = .notRunning
        // Not where the service stops meanwhile: then it is refused.
        await perform(id) { machine, now in
            switch machine.beginTask(request.number, of: guest, name: request.name, now: now) {
            case .success(let actions):
                refusal = nil
                return actions
            case .failure(let failure):
                refusal = failure
                let words = "\(request.name): \(failure.sentence)"
                return [.note(.backgroundTaskRefused, words)]
            }
        }
        guard !isStopping || refusal == nil else { throw .unavailable("The service is stopping.") }
        if let refusal { throw .noBackgroundTime(refusal.sentence) }
    }

    /// The work is finished. A number that is not, or no longer, that of a task is no error.
    package func endBackgroundTask(
        process pid: Int32, channel: String? = nil, number: Int64
    ) async throws(Problem) {
        let id = try app(ofProcess: pid, channel: channel)
        let guest = connections[pid]?.isGuest == true ? pid : nil
        await refreshWantedWakes(of: id)
        await perform(id) { $0.endTask(number, of: guest, now: $1) }
    }

    /// Changes what the user says of an app, once it is kept.
    package func change(_ id: AppID, _ change: AppChange) async throws(Problem) -> AppStatus {
        try requireApp(id)
        if let text = change.backgroundPolicy {
            let policy = BackgroundPolicy(text)
            guard policy != nil || text == "default" else {
                throw .invalid(
                    "'\(text)' is no policy: contiguous or opportunistic, with :SECONDS (10 to 3600) if wanted, or "
                        + "default.", pointer: "/backgroundPolicy")
            }
            let record = machine(id).record
            let order: Int64
            do throws(StoreError) {
                order = try await store.write { transaction in
                    try transaction.put(policy, of: record)
                    return try transaction.order()
                }
            } catch {
                throw .unavailable(error.message)
            }
            // It may have been removed meanwhile, or changed once more.
            try requireApp(id)
            policies[id, default: StoredValue(nil)].take(policy, order)
            var machine = machine(id)
            machine.record.background.policy = policies[id]?.value
            machines[id] = machine
            // As a step of its own, so that it sees the new terms.
            await perform(id) { $0.termsChanged(now: $1) }
        }
        return try await status(id)
    }

    /// Applies the settings that the user has made for the device. May be called before ``run()``.
    package func apply(_ settings: DeviceSettings) async {
        self.settings = settings
        for id in machines.keys.sorted(by: { $0.rawValue < $1.rawValue }) where machines[id] != nil {
            await perform(id) { $0.termsChanged(now: $1) }
        }
        await followFront()
    }

    /// Applies a moment, which says whether background work runs. May be called before ``run()``.
    package func apply(_ moment: DeviceMoment) async {
        let woke = moment.conditions.woke(since: lastConditions)
        lastConditions = moment.conditions
        // Pauses pass while the machine sleeps; the clock that the alarm counts in does not.
        if woke { await updateWantedWakes() }
        front.isUserAway = moment.conditions.isIdle || moment.conditions.isSleeping
        updateFrontUse()
        guard phase != moment.phase else { return }
        phase = moment.phase
        for id in machines.keys.sorted(by: { $0.rawValue < $1.rawValue }) where machines[id] != nil {
            // It may be another one by the time that its turn comes.
            await perform(id) { [phase] in $0.apply(phase, now: $1) }
        }
    }

    /// Tells what keeps the device busy, where that has changed.
    func reportActivity() {
        let current = machines.activity
        guard current != activity else { return }
        activity = current
        environment.activity(current)
    }

    /// Removes what processes that are gone have read.
    func removeStaleClocks() {
        let folder = clockFolder.path(percentEncoded: false)
        let kept = Set(clocks.keys.map(\.fileName))
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where !kept.contains(name) {
            try? FileManager.default.removeItem(atPath: folder + name)
        }
    }

    private var clockFolder: URL { environment.paths.runtime.appending(path: "clocks", directoryHint: .isDirectory) }

    /// Shows a process that the service may suspend how much time it has.
    func writeClock(_ id: AppID) {
        guard let machine = machines[id], machine.isManaged else { return }
        if clocks[id] == nil {
            do {
                clocks[id] = try ClockFile(folder: clockFolder, name: id.fileName)
            } catch {
                environment.logger.warning(
                    "An app cannot be shown its background time", metadata: ["app": "\(id)", "error": "\(error)"])
            }
        }
        clocks[id]?.write(machine.clock)
    }
}
