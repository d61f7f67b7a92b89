import Foundation
package import NightshiftAPI
import Runtime
package import Scheduler
package import Store

/// The handling of apps' scheduled tasks: submission, start and early end.
extension RefreshState {
    // MARK: - Submitting

    /// Accepts a task of an app. The task replaces a waiting task with the same identifier.
    ///
    /// - Parameter isInFront: whether the app is in the foreground.
    package mutating func submit(
        _ task: ScheduledTask, for app: AppID, isInFront: Bool, now: LocalMoment
    ) throws(Problem) {
        let manifest = try require(app)
        try checkWords(task)
        try checkPermission(task, manifest)
        if task.kind != .continued, availability(of: app) == .denied {
            let whose = isOn ? "for \(app)" : "for all apps"
            throw .refreshUnavailable("You have switched background refresh off \(whose).")
        }
        let key = StoredScheduledTask.Key(app: app, identifier: task.identifier, isRunning: false)
        let others = tasks.values.count {
            $0.app == app && $0.began == nil && $0.task.kind == task.kind && $0.key != key
        }
        let most = task.kind.most
        guard others < most else {
            let name = task.kind.rawValue
            throw .tooManyScheduledTasks(
                "\(app) has \(others) waiting \(name) task\(others == 1 ? "" : "s"); the limit is \(most). Cancel one first."
            )
        }
        if task.kind == .continued {
            guard isInFront else {
                throw .taskNotPermitted(
                    "A continued task must be started in the foreground, and \(app) is not in the foreground.")
            }
            let running = running(.continued)
            let hasRoom = running.count < Limits.runningContinuedTasks && !running.contains(key.processing)
            guard hasRoom || task.strategy != .fail else {
                throw .noRoomForTask("\(running.count) continued tasks are running, and this one must not wait.")
            }
        }
        know(app, now)
        tasks[key] = StoredScheduledTask(app: app, task: task, submitted: now.seconds)
        note(.taskSubmitted, app, task.identifier, now, inputs: ["kind": task.kind.rawValue])
    }

    private func checkWords(_ task: ScheduledTask) throws(Problem) {
        guard (1...Limits.taskIdentifierLength).contains(task.identifier.utf8.count) else {
            throw .invalid("An identifier must have 1 to \(Limits.taskIdentifierLength) bytes.", pointer: "/identifier")
        }
        if task.kind == .continued, task.title?.isEmpty ?? true {
            throw .invalid("A continued task must have a title, which is shown to the user.", pointer: "/title")
        }
        try checkTitle(task.title, "/title")
        try checkTitle(task.subtitle, "/subtitle")
    }

    private func checkTitle(_ text: String?, _ pointer: String) throws(Problem) {
        guard text?.utf8.count ?? 0 > Limits.taskTitleLength else { return }
        throw .invalid("This text may have at most \(Limits.taskTitleLength) bytes.", pointer: pointer)
    }

    private func checkPermission(_ task: ScheduledTask, _ manifest: AppManifest) throws(Problem) {
        if let mode = task.kind.mode, !manifest.modes.contains(mode) {
            throw .taskNotPermitted(
                "\(manifest.id) does not declare the background mode '\(mode.rawValue)'. Add '\(mode.rawValue)' to "
                    + "X-Nightshift-BackgroundModes in \(manifest.entry).")
        }
        guard ScheduledTask.isDeclared(task.identifier, in: manifest.taskIdentifiers) else {
            throw .taskNotPermitted(
                "\(manifest.id) does not declare the task '\(task.identifier)'. Add it to X-Nightshift-TaskIdentifiers in "
                    + "\(manifest.entry).")
        }
    }

    /// Returns the waiting tasks of an app, in the order of submission.
    package func pending(of app: AppID) -> [StoredScheduledTask] {
        tasks.values.filter { $0.app == app && $0.began == nil }.sorted {
            ($0.submitted, $0.task.identifier) < ($1.submitted, $1.task.identifier)
        }
    }

    /// Returns the running tasks of a kind.
    func running(_ kind: ScheduledTask.Kind) -> Set<ProcessingPlanner.Key> {
        Set(tasks.values.filter { $0.began != nil && $0.task.kind == kind }.map(\.key.processing))
    }

    /// Returns the waiting refresh task of an app.
    package func refreshRequest(of app: AppID) -> StoredScheduledTask? {
        tasks.values.first { $0.app == app && $0.began == nil && $0.task.kind == .refresh }
    }

    // MARK: - Cancelling

    /// Cancels a waiting task of an app; if `identifier` is nil, all its waiting tasks.
    ///
    /// - Returns: the number of cancelled tasks.
    @discardableResult
    package mutating func cancel(_ identifier: String?, of app: AppID, now: LocalMoment) -> Int {
        let keys = pending(of: app).map(\.key).filter { identifier == nil || $0.identifier == identifier }
        for key in keys { drop(key, nil, now) }
        return keys.count
    }

    /// Cancels a task at the user's request. A waiting task is removed. For a running continued task, the app is
    /// requested to end it.
    package mutating func cancelForUser(_ identifier: String, of app: AppID, now: LocalMoment) throws(Problem) {
        try require(app)
        let dropped = cancel(identifier, of: app, now: now)
        let key = StoredScheduledTask.Key(app: app, identifier: identifier, isRunning: true)
        if tasks[key]?.task.kind == .continued {
            note(.taskCancelled, app, "\(identifier): you cancelled it.", now)
            expiring[key.processing] = "You cancelled it."
            // The expiration is sent with each request, because an earlier one may have been lost.
            effects.append(.expire(app, .continued, identifier))
        } else if dropped == 0 {
            throw .notFound("\(app) has no task '\(identifier)' that can be cancelled.")
        }
    }

    /// Removes a waiting task, and records the reason.
    mutating func drop(_ key: StoredScheduledTask.Key, _ why: String?, _ now: LocalMoment) {
        guard tasks.removeValue(forKey: key) != nil else { return }
        note(.taskCancelled, key.app, [key.identifier, why].compactMap(\.self).joined(separator: ": "), now)
    }

    /// Removes waiting tasks that the entry no longer permits.
    mutating func dropUnwanted(of app: AppID, _ now: LocalMoment) {
        // While an entry is being replaced, it can be missing for a short time. That does not withdraw its permissions.
        guard let manifest = manifests[app] else { return }
        for task in pending(of: app) {
            do throws(Problem) {
                try checkPermission(task.task, manifest)
            } catch {
                drop(task.key, "the app's desktop entry no longer permits this task.", now)
            }
        }
    }

    // MARK: - Progress

    /// The minimum seconds between two writes of a task's progress.
    private static let progressInterval = 10.0

    /// Records the progress of a running continued task.
    package mutating func progress(
        _ identifier: String, _ progress: ScheduledTaskProgress, of app: AppID, now: LocalMoment
    ) throws(Problem) {
        let key = StoredScheduledTask.Key(app: app, identifier: identifier, isRunning: true)
        guard let task = tasks[key], task.task.kind == .continued else {
            throw .notFound("\(app) has no running continued task '\(identifier)'.")
        }
        try checkTitle(progress.title, "/title")
        try checkTitle(progress.subtitle, "/subtitle")
        for (units, pointer) in [
            (progress.completedUnits, "/completedUnits"), (progress.totalUnits, "/totalUnits"),
        ] where units ?? 0 < 0 {
            throw .invalid("Units must not be negative.", pointer: pointer)
        }
        var merged = self.progress(of: task) ?? ScheduledTaskProgress()
        merged.title = progress.title ?? merged.title
        merged.subtitle = progress.subtitle ?? merged.subtitle
        merged.completedUnits = progress.completedUnits ?? merged.completedUnits
        merged.totalUnits = progress.totalUnits ?? merged.totalUnits
        self.progress[key] = merged
        // After a restart of the service, the next report follows soon.
        let last = progressWritten[key.processing] ?? -.infinity
        guard !(0..<Self.progressInterval).contains(now.seconds - last) else { return }
        progressWritten[key.processing] = now.seconds
        tasks[key]?.progress = merged
    }

    func progress(of task: StoredScheduledTask) -> ScheduledTaskProgress? { progress[task.key] ?? task.progress }

    // MARK: - Running

    /// Marks the waiting task under `key` as running.
    mutating func begin(_ key: StoredScheduledTask.Key, _ now: LocalMoment) {
        guard var task = tasks.removeValue(forKey: key) else { return }
        task.began = now.seconds
        tasks[task.key] = task
        note(.taskBegan, key.app, key.identifier, now, inputs: ["kind": task.task.kind.rawValue])
    }

    mutating func endTask(
        _ key: StoredScheduledTask.Key, _ result: RefreshResult?, _ detail: String?, _ now: LocalMoment
    ) {
        guard let task = tasks.removeValue(forKey: key) else { return }
        let why = expiring.removeValue(forKey: key.processing)
        progressWritten[key.processing] = nil
        progress[key] = nil
        let words = [key.identifier, why, detail].compactMap(\.self).joined(separator: ": ")
        if task.task.kind == .processing, apps[key.app] != nil {
            var history = apps[key.app]?.processing ?? ProcessingHistory()
            history.ended(key.identifier, began: task.began ?? now.seconds, now: now.seconds)
            apps[key.app]?.processing = history
            touch(key.app)
        }
        var inputs = ["kind": task.task.kind.rawValue]
        inputs["result"] = result?.rawValue
        note(.taskEnded, key.app, words, now, inputs: inputs)
    }

    mutating func planProcessing(_ now: LocalMoment) {
        // If the clock was set back, the task counts as submitted now. Otherwise, its time limit would be extended by
        // the difference.
        for (key, task) in tasks where task.submitted > now.seconds {
            tasks[key]?.submitted = now.seconds
        }
        for id in apps.keys where apps[id]?.processing?.limit(to: now.seconds) == true { touch(id) }
        let requests = tasks.values.filter { $0.task.kind == .processing }.map { task in
            var request = ProcessingPlanner.Request(
                app: task.app, task: task.task, submitted: task.submitted, isRunning: task.began != nil)
            let app = planner.apps[task.app]
            request.lastUse = app?.lastUse(now)
            request.isSwitchedOff = app?.isOn == false || manifests[task.app]?.modes.contains(.processing) != true
            request.isForceQuit = app?.isForceQuit ?? false
            request.history = apps[task.app]?.processing
            return request
        }
        processing = ProcessingPlanner.plan(requests, moment.conditions, isOn: isOn, now: now.seconds)
        let ends = processing.expire.sorted {
            ($0.key.app.rawValue, $0.key.identifier) < ($1.key.app.rawValue, $1.key.identifier)
        }
        for (key, end) in ends where expiring.updateValue(end.sentence, forKey: key) == nil {
            effects.append(.expire(key.app, .processing, key.identifier))
        }
        for key in processing.begin { beginWork(key, .processing, timeout: Self.timeout, now) }
    }

    mutating func admitContinued(_ now: LocalMoment) {
        let waiting = tasks.values.filter { $0.task.kind == .continued && $0.began == nil }.map {
            ContinuedAdmission.Request(key: $0.key.processing, submitted: $0.submitted)
        }
        for key in ContinuedAdmission.admitted(waiting, running: running(.continued)) {
            beginWork(key, .continued, timeout: nil, now)
        }
    }

    private mutating func beginWork(
        _ key: ProcessingPlanner.Key, _ source: WakeSource, timeout: Double?, _ now: LocalMoment
    ) {
        let waiting = StoredScheduledTask.Key(app: key.app, identifier: key.identifier, isRunning: false)
        guard let task = tasks[waiting]?.task else { return }
        begin(waiting, now)
        outbox.append(
            .begin(RefreshWake(app: key.app, source: source, key: key.identifier, task: task, timeout: timeout)))
    }
}

extension StoredScheduledTask.Key {
    var processing: ProcessingPlanner.Key { ProcessingPlanner.Key(app: app, identifier: identifier) }
}

extension ScheduledTask.Kind {
    /// The background mode that the entry must declare for this kind.
    var mode: BackgroundMode? {
        switch self {
        case .refresh: .fetch
        case .processing: .processing
        case .continued: nil
        }
    }

    /// The maximum number of waiting tasks of this kind per app.
    var most: Int {
        switch self {
        case .refresh: Limits.refreshTasks
        case .processing: Limits.processingTasks
        case .continued: Limits.continuedTasks
        }
    }
}
