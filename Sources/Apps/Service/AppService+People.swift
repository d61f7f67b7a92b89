import Foundation
package import NightshiftAPI
import Store

/// Operations that people ask for.
extension AppService {
    /// Every app, and those of which what is kept makes no sense beside them.
    package func list() async throws(Problem) -> AppList {
        let apps = try await apps()
        return AppList(apps: apps, unreadable: unreadable.values.sorted { $0.id.rawValue < $1.id.rawValue })
    }

    /// What the entries of all apps say of which ``list()`` tells.
    package func manifests() -> [AppManifest] {
        var manifests: [AppID: AppManifest] = [:]
        for case .success(let manifest) in environment.entries.all() { manifests[manifest.id] = manifest }
        for id in Array(machines.keys) + unreadable.keys where manifests[id] == nil { manifests[id] = manifest(id) }
        return manifests.values.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// Every app that is installed for the background, or that the service knows otherwise, but for the unreadable ones.
    package func apps() async throws(Problem) -> [AppStatus] {
        var ids = Set(machines.keys)
        for case .success(let manifest) in environment.entries.all() { ids.insert(manifest.id) }
        ids.subtract(unreadable.keys)
        var result: [AppStatus] = []
        for id in ids.sorted(by: { $0.rawValue < $1.rawValue }) { result.append(try await status(id)) }
        return result
    }

    package func app(_ id: AppID) async throws(Problem) -> AppStatus {
        try requireApp(id)
        await refreshWantedWakes(of: id)
        return try await status(id)
    }

    /// Installs the desktop entry at an absolute path, in place of an older one of the same id.
    package func install(_ entry: String) async throws(Problem) -> AppStatus {
        let manifest: AppManifest
        do {
            manifest = try environment.entries.install(entry)
        } catch {
            throw Problem(error)
        }
        try requireReadable(manifest.id)
        await perform(manifest.id) { $0.installed(manifest.entry, now: $1) }
        await tellParts(manifest.id, installed: [manifest])
        await updateWantedWakes()
        return try await status(manifest.id)
    }

    /// Takes the entry away. The app has to be ended first; its transfers and their messages stay.
    ///
    /// Of an app whose row makes no sense the row goes, and nothing else: what there is of it begins anew. Of one whose entry is gone
    /// already, as where a service died over its removal, goes what is known of it.
    package func uninstall(_ id: AppID) async throws(Problem) {
        guard unreadable[id] == nil else { return try await removeUnreadable(id) }
        try requireApp(id)
        guard machines[id]?.record.state ?? .notRunning == .notRunning else {
            throw .conflict("\(id) is running; quit it first.")
        }
        let entry: EntryDirectories.Removed?
        do {
            entry = try environment.entries.take(id)
        } catch {
            guard error.code == .notFound, machines[id] != nil else { throw Problem(error) }
            entry = nil
        }
        let now = now
        // Nothing is begun for it while that is being written.
        let (machine, ends) = (machines.removeValue(forKey: id), unfinished.removeValue(forKey: id))
        do {
            try await store.write { transaction in
                // All parts' at once: a service that dies before they hear of it leaves nothing that its like would inherit.
                try transaction.deleteEverything(of: id)
                try transaction.record(JournalEntry(time: now.date, decision: .appRemoved, app: id))
            }
        } catch {
            if let entry { environment.entries.putBack(entry) }
            machines[id] = machine
            unfinished[id] = ends
            throw .unavailable(error.message)
        }
        if let entry { environment.entries.discard(entry) }
        AppOutput(environment.paths, app: id, log: logPath(id), limit: 0).remove()
        tellings[id] = nil
        policies[id] = nil
        readings[id] = nil
        // One that was installed in its place meanwhile was told before.
        await tellParts(id, installed: [nil] + [manifest(id)].compactMap(\.self))
    }

    private func removeUnreadable(_ id: AppID) async throws(Problem) {
        do {
            try await store.write { [now] transaction in
                try transaction.deleteApp(id)
                try transaction.record(
                    JournalEntry(
                        time: now.date, decision: .unreadable, app: id, detail: "It was removed; the app begins anew."))
            }
        } catch {
            throw .unavailable(error.message)
        }
        unreadable[id] = nil
        await updateWantedWakes()
    }

    /// A session of the app is gone, and its messages: they are nothing to wake the app for.
    package func sessionRemoved(of id: AppID) async { await refreshWantedWakes(of: id) }

    /// Rows of wakes of the app are gone: another part has taken them back.
    package func wakesTakenBack(of id: AppID) async { await refreshWantedWakes(of: id) }

    package func launch(_ id: AppID, _ request: LaunchRequest) async throws(Problem) -> AppStatus {
        // JSON can say what a program cannot be given: its arguments end with this character (execve(2)).
        if let index = request.arguments?.firstIndex(where: { $0.utf8.contains(0) }) {
            throw .invalid("An argument cannot hold the character NUL.", pointer: "/arguments/\(index)")
        }
        try requireEntry(id)
        let background = request.background ?? false
        await perform(id) {
            $0.launch(background: background, arguments: request.arguments ?? [], now: $1)
        }
        return try await launched(id)
    }

    package func activate(_ id: AppID) async throws(Problem) -> AppStatus {
        try requireApp(id)
        if machines[id]?.record.process == nil {
            try requireEntry(id)
            // Its user may have chosen a notification just before.
            await readWantedWakes(of: id)
        }
        await perform(id) { $0.bringToFront(now: $1) }
        return try await launched(id)
    }

    package func background(_ id: AppID) async throws(Problem) -> AppStatus {
        try requireProcess(id)
        await refreshWantedWakes(of: id)
        await perform(id) { $0.sendToBackground(now: $1) }
        return try await status(id)
    }

    /// Returns when the process is gone.
    ///
    /// - Throws: 503 where it cannot be written down that the user has forced the app to quit: it has quit, and a service that
    ///   starts before it is written would launch the app again.
    package func quit(_ id: AppID, force: Bool) async throws(Problem) -> AppStatus {
        try requireApp(id)
        if !force { try requireProcess(id) }
        let process = process(of: id)
        await perform(id) { $0.quit(force: force, now: $1) }
        await gone(process, of: id)
        if force, unwritten.apps.contains(id) {
            throw .unavailable(
                "\(id) has ended, but that its user wants that could not be written down; the log says why.")
        }
        return try await status(id)
    }

    /// Returns when the process is gone.
    package func kill(_ id: AppID) async throws(Problem) -> AppStatus {
        try requireProcess(id)
        let process = process(of: id)
        await perform(id) { machine, _ in machine.kill() }
        await gone(process, of: id)
        return try await status(id)
    }

    private func launched(_ id: AppID) async throws(Problem) -> AppStatus {
        let status = try await status(id)
        if status.state == .notRunning, let exit = status.lastExit, exit.cause == .launchFailed {
            throw .conflict("\(id) could not be launched. \(exit.detail ?? "")")
        }
        return status
    }

    /// Returns when the process is gone. What the app is wanted for may have launched another one by then.
    private func gone(_ process: ProcessIdentity?, of id: AppID) async {
        guard let process else { return }
        while self.process(of: id) == process, !isStopping {
            await withCheckedContinuation { endWaiters[id, default: []].append($0) }
        }
    }

    /// Throws where nothing is known of the app.
    func requireApp(_ id: AppID) throws(Problem) {
        try requireReadable(id)
        guard machines[id] == nil else { return }
        try requireEntry(id)
    }

    /// Throws where what is kept of the app makes no sense.
    func requireReadable(_ id: AppID) throws(Problem) {
        if let app = unreadable[id] { throw .conflict(app.sentence) }
    }

    private func requireProcess(_ id: AppID) throws(Problem) {
        try requireApp(id)
        guard process(of: id) != nil else { throw .conflict("\(id) is not running.") }
    }

    func requireEntry(_ id: AppID) throws(Problem) {
        try requireReadable(id)
        do {
            guard try environment.entries.find(id) != nil else {
                throw Problem.notFound(
                    "There is no app '\(id)'. 'nightshift app list' shows those there are; 'nightshift app install FILE' "
                        + "installs a desktop entry.")
            }
        } catch let error as EntryError {
            throw Problem(error)
        } catch let problem as Problem {
            throw problem
        } catch {
            throw .unavailable("\(error)")
        }
    }
}

extension Problem {
    init(_ error: EntryError) {
        switch error.code {
        case .notFound, .hidden: self = .notFound(error.description)
        case .elsewhere: self = .conflict(error.description)
        case .inputOutput: self = .unavailable(error.description)
        case .syntax, .value, .name: self = .invalid(error.description, pointer: "/entry")
        }
    }
}
