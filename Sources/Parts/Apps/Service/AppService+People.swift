import Foundation
package import NightshiftAPI
import Runtime
import Store

/// Operations that people request.
extension AppService {
    /// Returns every app, and a list of apps whose stored rows are unreadable.
    package func list() async throws(Problem) -> AppList {
        let apps = try await apps()
        return AppList(apps: apps, unreadable: unreadable.values.sorted { $0.id.rawValue < $1.id.rawValue })
    }

    /// Returns the manifests of all apps in ``list()``.
    package func manifests() -> [AppManifest] {
        var manifests: [AppID: AppManifest] = [:]
        for case .success(let manifest) in environment.entries.all() { manifests[manifest.id] = manifest }
        for id in Array(machines.keys) + unreadable.keys where manifests[id] == nil { manifests[id] = manifest(id) }
        return manifests.values.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// Returns every app that is installed for the background or otherwise known to the service, except those with
    /// unreadable rows.
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

    /// Installs the desktop entry at an absolute path. It replaces an entry of the same id.
    ///
    /// - Returns: the status, which also says if a program of the entry cannot be found.
    package func install(_ entry: String) async throws(Problem) -> AppStatus {
        let manifest: AppManifest
        do {
            manifest = try environment.entries.install(entry)
        } catch {
            throw Problem(error)
        }
        try requireReadable(manifest.id)
        await perform(manifest.id) { $0.installed(manifest.entry, now: $1) }
        await events.publishAndWait([.installed(manifest)], of: manifest.id)
        await updateWantedWakes()
        var answer = try await status(manifest.id)
        answer.missingProgram = missingProgram(of: manifest)
        return answer
    }

    /// Returns a sentence about the first command whose program a launch would not find; nil if all are found.
    private func missingProgram(of manifest: AppManifest) -> String? {
        let search = ExecutableSearch(
            environment: launchVariables(manifest.id, manifest, background: true, wakes: []),
            fileSystems: environment.entries.fileSystems)
        let programs = [manifest.command.first, manifest.wakeCommand?.first].compactMap(\.self)
        return programs.first { search.find($0) == .nothing }.map { "\(search.absence(of: $0))." }
    }

    /// Removes the app's desktop entry. The app must not be running. Its transfers and their messages stay.
    ///
    /// If the app's row is unreadable, only the row is deleted, and the app starts with a new one. If the entry is gone
    /// already, as after a crash during its removal, the stored state of the app is deleted.
    package func uninstall(_ id: AppID) async throws(Problem) {
        guard unreadable[id] == nil else { return try await removeUnreadable(id) }
        try requireApp(id)
        try Self.requireEnded(machines[id])
        let entry: EntryDirectories.Removed?
        do {
            entry = try environment.entries.take(id)
        } catch {
            guard error.code == .notFound, machines[id] != nil else { throw Problem(error) }
            entry = nil
        }
        do {
            try await ask { (state, now) throws(Problem) in
                try Self.requireEnded(state.machines[id])
                state.remove(id, now: now)
            }
        } catch {
            if let entry { environment.entries.putBack(entry) }
            throw error
        }
        if let entry { environment.entries.discard(entry) }
        AppOutput(environment.paths, app: id, log: logPath(id), limit: 0).remove()
        sentNotices.forget(id)
        readings.forget(id)
        // Another app of this id may have been installed in the meantime. Its report came before this one, so it is
        // published again.
        await events.publishAndWait([.installed(nil)] + (manifest(id).map { [.installed($0)] } ?? []), of: id)
    }

    private static func requireEnded(_ machine: AppMachine?) throws(Problem) {
        guard let machine, machine.record.state != .notRunning else { return }
        throw .conflict("\(machine.record.id) is running. Quit it first.")
    }

    private func removeUnreadable(_ id: AppID) async throws(Problem) {
        try await ask { (state, now) throws(Problem) in state.removeUnreadable(id, now: now) }
        await updateWantedWakes()
    }

    /// Drops the wakes of a removed session, because its messages are deleted.
    package func sessionRemoved(of id: AppID) async { await refreshWantedWakes(of: id) }

    /// Drops the app's wakes whose rows another feature has deleted.
    package func wakesTakenBack(of id: AppID) async { await refreshWantedWakes(of: id) }

    package func launch(_ id: AppID, _ request: LaunchRequest) async throws(Problem) -> AppStatus {
        // JSON can represent NUL, but an argument of a program cannot contain it (execve(2)).
        if let index = request.arguments?.firstIndex(where: { $0.utf8.contains(0) }) {
            throw .invalid("An argument cannot contain the character NUL.", pointer: "/arguments/\(index)")
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
            // The user may just have responded to a notification.
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

    /// Quits the app, and returns when its process is gone.
    ///
    /// - Throws: 503 if the user's force quit could not be stored. The app has quit. But if the service restarts before
    ///   the force quit is stored, it could launch the app again.
    package func quit(_ id: AppID, force: Bool) async throws(Problem) -> AppStatus {
        try requireApp(id)
        if !force { try requireProcess(id) }
        let process = process(of: id)
        await perform(id) { $0.quit(force: force, now: $1) }
        await gone(process, of: id)
        if force, await !part.written(hooks, where: { $0.concern(id) }) {
            throw .unavailable(
                "\(id) has ended, but your force quit could not be stored. The log of the service says why.")
        }
        return try await status(id)
    }

    /// Kills the app, and returns when its process is gone.
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

    /// Returns when the process is gone. By then, a waiting wake may already have launched another process.
    private func gone(_ process: ProcessIdentity?, of id: AppID) async {
        guard let process else { return }
        while self.process(of: id) == process, !isStopping {
            await withCheckedContinuation { endWaiters[id, default: []].append($0) }
        }
    }

    /// Throws if the app is unknown.
    func requireApp(_ id: AppID) throws(Problem) {
        try requireReadable(id)
        guard machines[id] == nil else { return }
        try requireEntry(id)
    }

    /// Throws if the stored row of the app is unreadable.
    func requireReadable(_ id: AppID) throws(Problem) {
        if let app = unreadable[id] { throw .conflict(app.sentence) }
    }

    private func requireProcess(_ id: AppID) throws(Problem) {
        try requireApp(id)
        guard process(of: id) != nil else { throw .conflict("\(id) is not running.") }
    }

    static func unknown(_ id: AppID) -> Problem {
        .notFound(
            "There is no app '\(id)'. 'nightshift app list' lists all apps; 'nightshift app install FILE' installs a "
                + "desktop entry.")
    }

    func requireEntry(_ id: AppID) throws(Problem) {
        try requireReadable(id)
        do {
            guard try environment.entries.find(id) != nil else {
                throw Self.unknown(id)
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
