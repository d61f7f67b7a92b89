import Clock
import Foundation
import Logging
package import NightshiftAPI
import Runtime
import Store

/// Background tasks, and the device settings and states that affect them.
extension AppService {
    /// Begins a background task for the app of the calling process. The app is not suspended until the task ends or its
    /// background time is over.
    ///
    /// When this returns, the task is on disk. If the disk failed, the task is written together with the app's next
    /// step. A full disk does not cause a refusal, because the app may be about to free space. A repeated number means
    /// the same task.
    package func beginBackgroundTask(
        process pid: Int32, channel: String? = nil, _ request: BackgroundTaskRequest
    ) async throws(Problem) {
        let id = try app(ofProcess: pid, channel: channel)
        guard (1...Limits.backgroundTaskNameLength).contains(request.name.utf8.count) else {
            throw .invalid(
                "The name of a background task must have 1 to \(Limits.backgroundTaskNameLength) bytes.",
                pointer: "/name")
        }
        guard request.number > 0 else {
            throw .invalid("The number of a background task must be at least 1.", pointer: "/number")
        }
        guard machines[id] != nil else { throw .noBackgroundTime(BackgroundTaskRefusal.notRunning.sentence) }
        let guest = connections[pid]?.isGuest == true ? pid : nil
        var refusal: BackgroundTaskRefusal? = .notRunning
        // If the service has begun to stop, `perform` does nothing, and the request is refused below.
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

    /// Ends a background task. An unknown number is no error.
    package func endBackgroundTask(
        process pid: Int32, channel: String? = nil, number: Int64
    ) async throws(Problem) {
        let id = try app(ofProcess: pid, channel: channel)
        let guest = connections[pid]?.isGuest == true ? pid : nil
        await refreshWantedWakes(of: id)
        await perform(id) { $0.endTask(number, of: guest, now: $1) }
    }

    /// Changes the user's setting for an app, and applies it once it is stored.
    package func change(_ id: AppID, _ change: AppChange) async throws(Problem) -> AppStatus {
        try requireApp(id)
        if let text = change.backgroundPolicy {
            let policy = BackgroundPolicy(text)
            guard policy != nil || text == "default" else {
                throw .invalid(
                    "'\(text)' is not a policy. Use contiguous or opportunistic, optionally with :SECONDS (10 to 3600), or "
                        + "default.", pointer: "/backgroundPolicy")
            }
            try await ask { (state, _) throws(Problem) in
                // The app may have been removed in the meantime.
                guard state.machines[id] != nil || manifest(id) != nil else { throw Self.unknown(id) }
                state.setPolicy(policy, of: machine(id, in: state))
            }
            // This is a separate step, so that it uses the new terms.
            await perform(id) { $0.termsChanged(now: $1) }
        }
        return try await status(id)
    }

    /// Applies the user's settings for the device. Callers may call this before ``run()``.
    package func apply(_ settings: DeviceSettings) async {
        self.settings = settings
        for id in machines.keys.sorted(by: { $0.rawValue < $1.rawValue }) where machines[id] != nil {
            await perform(id) { $0.termsChanged(now: $1) }
        }
        await followFront()
    }

    /// Applies the device state, which says whether background work runs. Callers may call this before ``run()``.
    package func apply(_ moment: DeviceState) async {
        let woke = moment.conditions.woke(since: device.conditions)
        let isSamePhase = moment.phase == device.phase
        device = moment
        // Launch pauses continue to elapse while the machine sleeps, but the clock of the alarm stops.
        if woke { await updateWantedWakes() }
        front.isUserAway = moment.conditions.isIdle || moment.conditions.isSleeping
        updateFrontUse()
        guard !isSamePhase else { return }
        for id in machines.keys.sorted(by: { $0.rawValue < $1.rawValue }) where machines[id] != nil {
            // The phase may have changed again before this step runs, so its value is captured.
            await perform(id) { [phase = device.phase] in $0.apply(phase, now: $1) }
        }
    }

    /// Reports the background activity that doze takes into account, if it has changed.
    func reportActivity() {
        let current = machines.activity
        guard current != activity else { return }
        activity = current
        environment.activity(current)
    }

    /// Deletes the clock files of processes that are gone.
    func removeStaleClocks() {
        let folder = clockFolder.path(percentEncoded: false)
        let kept = Set(clocks.keys.map(\.fileName))
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where !kept.contains(name) {
            try? FileManager.default.removeItem(atPath: folder + name)
        }
    }

    private var clockFolder: URL { environment.paths.runtime.appending(path: "clocks", directoryHint: .isDirectory) }

    /// Writes the background time to the clock file that the process reads. Processes that the service may not suspend
    /// have no clock file.
    func writeClock(_ id: AppID) {
        guard let machine = machines[id], machine.isManaged else { return }
        if clocks[id] == nil {
            do {
                clocks[id] = try ClockFile(folder: clockFolder, name: id.fileName)
            } catch {
                environment.logger.warning(
                    "An app's background time cannot be written to its clock file",
                    metadata: ["app": "\(id)", "error": "\(error)"])
            }
        }
        clocks[id]?.write(machine.clock)
    }
}
