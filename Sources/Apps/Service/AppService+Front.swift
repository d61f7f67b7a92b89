import Clock
import Foundation
import Glibc
package import NightshiftAPI
import Store

/// What the desktop shows in front, and what that makes of the apps.
extension AppService {
    /// What is known of the desktop.
    struct Front {
        /// Whether it has told anything yet.
        var isTold = false
        /// The installed app, or one that the service knows otherwise, whose window is in front.
        var app: AppID?
        /// Whether the app has keys of ours: of others nobody's use is of interest.
        var isInstalled = false
        var use = FrontUse()
        var entries = FrontEntries()
        /// Whether nobody uses the device, or it sleeps.
        var isUserAway = false
    }

    /// Another application's window is in front, or none is.
    ///
    /// Where the user's settings want it, that brings apps to the front and sends them to the background, as long as they do
    /// not say so themselves.
    package func front(_ application: FrontApplication?) async {
        front.isTold = true
        (front.app, front.isInstalled) = application.map { identify($0) } ?? (nil, false)
        await followFront()
    }

    /// The app whose window is in front; nil where none is, or it is nobody's.
    package var frontApp: AppID? { front.app }

    /// Gives the apps the states that their windows have.
    func followFront() async {
        if settings.followsFront, front.isTold {
            for id in machines.keys.sorted(by: { $0.rawValue < $1.rawValue }) where id != front.app {
                guard machines[id]?.isShownByDesktop == true else { continue }
                await refreshWantedWakes(of: id)
                // Another window may have come to the front meanwhile.
                guard id != front.app else { continue }
                await perform(id) { $0.desktopShows(inFront: false, now: $1) }
            }
            if let id = front.app, machines[id] != nil { await perform(id) { $0.desktopShows(inFront: true, now: $1) } }
        }
        updateFrontUse()
    }

    /// Tells of the use of an app that nothing else tells of.
    func updateFrontUse() {
        let hasStates = front.app.flatMap { machines[$0] }.map { $0.record.state != .notRunning } ?? false
        let changes = front.use.update(
            front: front.isInstalled ? front.app : nil, hasStates: hasStates, isUserAway: front.isUserAway)
        let parts = environment.parts
        for change in changes { partCalls.add { await parts.use(change.app, change.isInFront) } }
    }

    /// The app that a window is of, and whether it has keys of ours.
    private func identify(_ application: FrontApplication) -> (app: AppID?, isInstalled: Bool) {
        let entries = front.entries.current(in: environment.entries)
        let process = application.processID.map { windowProcess($0) } ?? FrontProcess()
        let app = FrontMatcher(entries: entries).app(of: application, process: process)
        return (app, entries.contains { $0.id == app && $0.speaksOfBackground })
    }

    /// What is known of the process that a window says it is of.
    private func windowProcess(_ pid: Int32) -> FrontProcess {
        guard let process = ProcessIdentity.of(pid, bootID: now.bootID) else { return FrontProcess() }
        var known = FrontProcess()
        known.app = app(ofProcess: process)
        known.program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
        known.starter = launchedApp(of: process) ?? starter(of: process)
        return known
    }

    private func app(ofProcess process: ProcessIdentity) -> AppID? {
        machines.first { $0.value.record.process.map { ProcessIdentity($0) } == process && !$0.value.isCommand }?.key
    }

    /// The app that a process descends from, or in whose cgroup it is.
    private func starter(of process: ProcessIdentity) -> AppID? {
        var ancestor = process
        for _ in 0..<Self.deepestDescent {
            guard let parent = ProcessStatistics(of: ancestor.pid)?.parent, parent > 1,
                let next = ProcessIdentity.of(parent, bootID: process.bootID)
            else { break }
            if let app = app(ofProcess: next) { return app }
            ancestor = next
        }
        guard let folder = ControlGroups.appFolder(ofProcess: process.pid) else { return nil }
        return machines.first { _, machine in
            guard machine.isManaged, !machine.isCommand, let leader = machine.record.process else { return false }
            return ControlGroups.appFolder(ofProcess: leader.processID) == folder
        }?.key
    }

    /// Programs start programs, but not in longer rows.
    private static let deepestDescent = 32
}
