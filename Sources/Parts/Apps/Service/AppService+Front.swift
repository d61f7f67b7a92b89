import Clock
import Foundation
import Glibc
package import NightshiftAPI
import Runtime
import Store

/// The window with the focus, and its effect on the states of apps.
extension AppService {
    /// The service's knowledge of the desktop.
    struct Front {
        /// Whether the desktop has reported a focus yet.
        var isTold = false
        /// The app whose window has the focus, if it is installed or otherwise known to the service.
        var app: AppID?
        /// Whether the app's desktop entry has keys of Nightshift. The use of other apps is not recorded.
        var isInstalled = false
        var use = FrontUse()
        var entries = FrontEntries()
        /// Whether the device is idle or sleeps.
        var isUserAway = false
    }

    /// Handles a change of the focus to another application's window, or to no window.
    ///
    /// If the user's settings allow it, this moves apps to the foreground or the background, unless they report their
    /// own state.
    package func front(_ application: FrontApplication?) async {
        front.isTold = true
        (front.app, front.isInstalled) = application.map { identify($0) } ?? (nil, false)
        await followFront()
    }

    /// The app whose window has the focus; nil if no window has it, or the app is unknown.
    package var frontApp: AppID? { front.app }

    /// Updates the states of apps to match the window with the focus.
    func followFront() async {
        if settings.followsFront, front.isTold {
            for id in machines.keys.sorted(by: { $0.rawValue < $1.rawValue }) where id != front.app {
                guard machines[id]?.isShownByDesktop == true else { continue }
                await refreshWantedWakes(of: id)
                // The focus may have changed in the meantime.
                guard id != front.app else { continue }
                await perform(id) { $0.desktopShows(inFront: false, now: $1) }
            }
            if let id = front.app, machines[id] != nil { await perform(id) { $0.desktopShows(inFront: true, now: $1) } }
        }
        updateFrontUse()
    }

    /// Reports the use of an app that does not report its own states, based on its windows.
    func updateFrontUse() {
        let hasStates = front.app.flatMap { machines[$0] }.map { $0.record.state != .notRunning } ?? false
        let changes = front.use.update(
            front: front.isInstalled ? front.app : nil, hasStates: hasStates, isUserAway: front.isUserAway)
        for change in changes { events.publish(.use(isInFront: change.isInFront), of: change.app) }
    }

    /// Returns the app of a window, and whether its desktop entry has keys of Nightshift.
    private func identify(_ application: FrontApplication) -> (app: AppID?, isInstalled: Bool) {
        let entries = front.entries.current(in: environment.entries)
        let process = application.processID.map { windowProcess($0) } ?? FrontProcess()
        let app = FrontMatcher(entries: entries).app(of: application, process: process)
        return (app, entries.contains { $0.id == app && $0.speaksOfBackground })
    }

    /// Returns what the service knows about the process of a window.
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

    /// Returns the app that started a process, determined by the process's ancestors or its cgroup.
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

    /// The number of ancestors that are checked. Longer chains do not occur in practice.
    private static let deepestDescent = 32
}
